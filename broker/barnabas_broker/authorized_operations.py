"""What a client may do with a topic or the cluster, as the bits of an answer.

Bit n stands for operation n of Kafka's AclOperation. Without an authoriser everything is allowed.
"""

from typing import Final

TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
