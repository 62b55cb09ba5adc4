"""Changes of a deployed cluster: the effects of a deployment, before it."""
