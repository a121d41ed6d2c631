"""What every Barnabas process is built from: protocol, records, log, and ports to the world."""
