"""`kafka-storage`: log directories made ready for a node, and what is known of them."""
