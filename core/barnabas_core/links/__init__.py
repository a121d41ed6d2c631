"""Links between our own processes: one protocol over gRPC, in-process queues or a simulation."""
