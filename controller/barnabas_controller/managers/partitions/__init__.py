"""Leadership of partitions: elections, ISR, ELR, reassignment, directories."""
