"""From the image of the cluster to the partitions that this broker keeps."""
