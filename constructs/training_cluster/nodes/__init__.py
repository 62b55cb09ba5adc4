"""Node groups, system and GPU: what they are made from, and what a node does before it joins."""
