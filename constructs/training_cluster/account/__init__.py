"""The user's AWS account: whether a configuration can be deployed there, what runs there, and its end."""
