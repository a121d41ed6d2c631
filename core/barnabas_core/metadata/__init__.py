"""The cluster's metadata: records, the image they add up to, and the delta between two."""
