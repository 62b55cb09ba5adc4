"""Keys, roles of pods, and the findings of scanners that are accepted."""
