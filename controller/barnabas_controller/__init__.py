"""The controller: KRaft quorum, metadata decisions, and the links that brokers come by."""
