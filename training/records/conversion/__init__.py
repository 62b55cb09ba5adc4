"""From images in archives or folders to shards: the common part of all converters."""
