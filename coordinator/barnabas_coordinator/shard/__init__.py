"""What every kind of coordinator stands on: one shard, its records, its session with a broker."""
