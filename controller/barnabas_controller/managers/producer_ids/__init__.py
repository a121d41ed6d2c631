"""Producer ids, handed to brokers in blocks."""
