"""The resources `KafkaCluster` and `KafkaTopic`, group `barnabas.dev`.

Frozen dataclasses are the one source: the definitions that Kubernetes is given (`crd`), their
documentation (`reference`) and the reader of what users wrote (`parsing`) all follow from them.
"""
