"""The EKS cluster: control plane, system nodes, add-ons, and who may use its API."""
