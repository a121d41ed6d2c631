"""The partitions that this broker leads: appending, reading, and those who wait for either."""
