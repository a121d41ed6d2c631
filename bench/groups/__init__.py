"""Groups beside Apache Kafka: how fast they settle, what they cost, how fast a shard is loaded.

    python -m bench.groups [--only NAME,...] [--quick] [--skip-kafka] [--no-write]

The clients are members made of few lines, thousands of them in one process: what is measured is the
coordinator, and no client's threads. On our side broker, controller and coordinator are processes
of their own, and all three are counted; on Kafka's they are one.
"""
