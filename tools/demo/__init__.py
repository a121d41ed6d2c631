"""`make demo`: a cluster, a stream of orders, and a pipeline that sums them up while you watch.

`orders.yaml` is the pipeline: orders as JSON, a sum per country and window, into Parquet and into a
topic. What the terminal shows comes from that topic, and the plot at the end from the table.
"""
