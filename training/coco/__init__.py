"""COCO: its annotations and its converter, made data in its format, and the batches of a detection network."""
