"""GPU node groups: what they are made from, and what a node does before it joins."""
