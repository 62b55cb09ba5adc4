"""The user's AWS account: whether a configuration can be deployed there, the resources there, and their end."""
