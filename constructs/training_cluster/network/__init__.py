"""The VPC: its subnets, its endpoints, its address plan."""
