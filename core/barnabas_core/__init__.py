"""What every Barnabas process is built from: protocol, records, the log, and the ports to the world."""
