"""The jobs on a cluster: what the commands that talk to Kubernetes are made of."""
