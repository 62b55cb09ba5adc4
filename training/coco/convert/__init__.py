"""The program `python -m training.coco.convert`: from COCO's archives or folders to shards."""
