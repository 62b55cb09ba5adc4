"""The EKS cluster: control plane, add-ons, and who may use its API."""
