"""What is installed in Kubernetes to run the operator: `manifests/`, and the chart's rights."""
