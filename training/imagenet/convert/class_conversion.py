"""The work of the processes of a conversion of ImageNet on a shard."""

from collections.abc import Sequence
from dataclasses import dataclass

from training.records.conversion.shard_plan import Shard


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversion:
    """The settings that all shards share."""

    synsets: Sequence[str]
    """The sorted classes."""
    short_side: int | None
    """Pixels; None resizes no image."""
    skip: bool
    """Whether a shard is written without its damaged images; otherwise it is not written."""

    def is_done(self, shard: Shard) -> bool:
        """Return whether the shard is complete."""
        return shard.is_done(complete=not self.skip)

    def write(self, shard: Shard) -> list[str]:
        """Write the shard."""
        # Here: it imports TensorFlow, only in these processes and after their preparation.
        from training.imagenet.convert import example_writer

        return example_writer.write(shard, self.synsets, short_side=self.short_side, skip=self.skip)
