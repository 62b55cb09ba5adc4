"""The curve of a run: loss and accuracy of each epoch, in results.json and as a picture beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import picture_process, ranks


def point(epoch: float, world_size: int, *, loss: Mapping[str, float], accuracy: Mapping[str, float]) -> dict[str, Any]:
    """Return one epoch for the `history` of results.json, which checkpoints keep: a resumed run has all of it.

    Args:
        epoch: Finished epochs; a fraction for an evaluation within one.
        world_size: Ranks that finished it.
        loss: Losses by the names of their images, such as `training`.
        accuracy: Likewise, such as `test` or `top-1`.
    """
    values = {"loss": loss, "accuracy": accuracy}
    rounded = {panel: {name: round(value, 6) for name, value in lines.items()} for panel, lines in values.items()}
    return {"epoch": epoch, "world_size": world_size, **rounded}


def draw(output: Path) -> None:
    """Draw results.json as curve.svg; call it last: no rank waits for the picture.

    Args:
        output: The folder given as '--output-dir'.
    """
    # Rank zero alone writes.
    if ranks.rank() == 0:
        picture_process.draw(output / "curve.svg", f"{__package__}.curve_picture", [str(output)])
