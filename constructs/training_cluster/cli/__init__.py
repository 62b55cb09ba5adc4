"""The group `cluster` of the command line, above the account and the changes of a cluster."""
