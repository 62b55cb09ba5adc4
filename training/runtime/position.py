"""The position of a run, with which it resumes at the next image."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A part of an epoch that one number of ranks trained."""

    world_size: int
    """Ranks."""
    batch_size: int
    """Images per step and rank."""
    steps: int
    """Steps that are done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """Step, epoch, and the parts of the epoch that are done.

    Attributes:
        step: Steps since the run began, over all epochs.
        epoch: Finished epochs.
        segments: Finished parts of the epoch after them: a segment for each number of ranks or batch size.
    """

    step: int = 0
    epoch: int = 0
    segments: tuple[Segment, ...] = ()

    @property
    def images(self) -> int:
        """Images of the unfinished epoch that were trained on."""
        return sum(segment.world_size * segment.batch_size * segment.steps for segment in self.segments)

    def after_step(self, world_size: int, batch_size: int) -> "Position":
        """Return the position one step of all ranks later."""
        *before, last = self.segments or [Segment(world_size=world_size, batch_size=batch_size, steps=0)]
        if (last.world_size, last.batch_size) != (world_size, batch_size):
            before, last = [*before, last], Segment(world_size=world_size, batch_size=batch_size, steps=0)
        return replace(self, step=self.step + 1, segments=(*before, replace(last, steps=last.steps + 1)))

    def after_epoch(self) -> "Position":
        """Return the start of the next epoch; the rest of this one is not trained on."""
        return replace(self, epoch=self.epoch + 1, segments=())

    def to_json(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        segments = [[segment.world_size, segment.batch_size, segment.steps] for segment in self.segments]
        return {"step": self.step, "epoch": self.epoch, "segments": segments}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Position":
        """Return the position from the result of `to_json`.

        Raises:
            ValueError: It did not write that.
        """
        try:
            step, epoch = _whole(content["step"]), _whole(content["epoch"])
            segments = tuple(
                Segment(world_size=_whole(ranks), batch_size=_whole(images), steps=_whole(steps))
                for ranks, images, steps in content["segments"]
            )
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"not a position: {content!r}") from error
        return cls(step=step, epoch=epoch, segments=segments)


def _whole(value: object) -> int:
    # JSON's true would count as 1.
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number, 0 or more")
    return value
