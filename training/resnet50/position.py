"""Where a run is: what is needed to go on at the very next image."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from training.records.epoch_order import Segment


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a run has come.

    Attributes:
        step: Steps since the run began, over all epochs.
        epoch: Epochs that are finished.
        segments: What was trained of the next one: a segment for each number of ranks or batch size that worked on it.
    """

    step: int = 0
    epoch: int = 0
    segments: tuple[Segment, ...] = ()

    @property
    def images(self) -> int:
        """Images of the unfinished epoch that were trained on."""
        return sum(segment.world_size * segment.batch_size * segment.steps for segment in self.segments)

    def after_step(self, world_size: int, batch_size: int) -> "Position":
        """Counts one step of all ranks."""
        *before, last = self.segments or [Segment(world_size=world_size, batch_size=batch_size, steps=0)]
        if (last.world_size, last.batch_size) != (world_size, batch_size):
            before, last = [*before, last], Segment(world_size=world_size, batch_size=batch_size, steps=0)
        return replace(self, step=self.step + 1, segments=(*before, replace(last, steps=last.steps + 1)))

    def after_epoch(self) -> "Position":
        """Begins the next epoch; what was left over of this one is not trained on."""
        return replace(self, epoch=self.epoch + 1, segments=())

    def to_json(self) -> dict[str, Any]:
        """Returns it as JSON knows it."""
        segments = [[segment.world_size, segment.batch_size, segment.steps] for segment in self.segments]
        return {"step": self.step, "epoch": self.epoch, "segments": segments}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Position":
        """Reads what `to_json` wrote."""
        names = ("world_size", "batch_size", "steps")
        segments = tuple(Segment(**dict(zip(names, values, strict=True))) for values in content["segments"])
        return cls(step=content["step"], epoch=content["epoch"], segments=segments)
