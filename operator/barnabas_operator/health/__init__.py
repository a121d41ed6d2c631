"""The running cluster as the operator sees it: ClusterHealth over links, Kafka's admin protocol."""
