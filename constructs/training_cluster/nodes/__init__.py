"""Node groups, system and GPU: their parts, and the user data of a node."""
