"""Manifests of any kind: documents with lines, and tolerant views of the pods in them."""
