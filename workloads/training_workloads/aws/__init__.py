"""Requests to AWS with the user's credentials, and failures in their words."""
