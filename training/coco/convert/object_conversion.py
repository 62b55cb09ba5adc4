"""The work of the processes of a conversion of COCO on a shard."""

from dataclasses import dataclass

from training.coco import image_sizes
from training.records.conversion.shard_plan import Shard


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversion:
    """The settings that all shards share."""

    categories: int
    skip: bool
    """Whether a shard is written without its damaged images; otherwise it is not written."""

    def is_done(self, shard: Shard) -> bool:
        """Return whether the shard and the sizes of its images are complete."""
        return shard.is_done(complete=not self.skip) and image_sizes.are_complete(shard.path)

    def write(self, shard: Shard) -> list[str]:
        """Write the shard."""
        # Here: it imports TensorFlow, only in these processes and after their preparation.
        from training.coco.convert import object_writer

        return object_writer.write(shard, self.categories, skip=self.skip)
