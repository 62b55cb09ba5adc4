"""A team on a shared cluster: its namespace, its people, its share of the GPUs, and its border."""
