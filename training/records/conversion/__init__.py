"""From images in archives or folders to shards: what the converters of all datasets share."""
