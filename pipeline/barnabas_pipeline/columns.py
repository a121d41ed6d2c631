"""The columns that come with every record, beside those that its value is decoded into."""

from typing import Final

PREFIX: Final = "kafka_"
KEY: Final = "kafka_key"
VALUE: Final = "kafka_value"  # only where bad records are kept or looked at
TOPIC: Final = "kafka_topic"
PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"
TIMESTAMP: Final = "kafka_timestamp"
HEADERS: Final = "kafka_headers"
# Why a record could not be decoded; null for those that could.
BAD_REASON: Final = "bad_reason"

# Ours, and what Spark's Kafka source calls them.
OF_SOURCE: Final = {
    KEY: "key",
    VALUE: "value",
    TOPIC: "topic",
    PARTITION: "partition",
    OFFSET: "offset",
    TIMESTAMP: "timestamp",
    HEADERS: "headers",
}
