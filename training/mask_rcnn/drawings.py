"""Images with their objects and with those that were found: predictions.png of a run's output folder."""

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from training.mask_rcnn.pasted_masks import paste
from training.runtime import picture_process
from training.runtime.files import write_atomically

#: Images of the picture.
IMAGES = 8

#: In the output folder.
NAME = "predictions.png"

# Less certain detections would cover the rest.
_LEAST_SCORE = 0.5
_COLUMNS = 4
_SIDE_INCHES = 3.0

# The colors of the labels in turn; light enough for black letters.
_COLORS = ("#ff8c42", "#4cc9f0", "#ffd166", "#9be564", "#f78fb3", "#c8b6ff", "#63d2c6", "#ff6b6b")


class Drawn(NamedTuple):
    """An image with its objects, or with those that were found."""

    image: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    """y1, x1, y2, x2 in pixels of this image."""
    labels: NDArray[np.int32]
    scores: NDArray[Any]
    """1 for the truth."""
    masks: NDArray[Any]
    """On the cells of the boxes."""


def draw(output: Path, pairs: Sequence[tuple[Drawn, Drawn]], names: Sequence[str]) -> None:
    """Draw the picture in another process, with a warning where that fails.

    Args:
        output: The folder given as '--output-dir'.
        pairs: Truth and detections of each image; without an image nothing is drawn.
        names: Names of the labels, from label 1.
    """
    if not pairs:
        return
    with tempfile.TemporaryDirectory() as folder:
        content = Path(folder) / "seen.npz"
        arrays = {
            f"{row} {column} {name}": part
            for row, pair in enumerate(pairs)
            for column, drawn in enumerate(pair)
            for name, part in drawn._asdict().items()
        }
        np.savez(content, names=np.array(names), **arrays)
        arguments = [str(content), str(output / NAME)]
        picture_process.draw(output / NAME, "training.mask_rcnn.drawings", arguments, again=False)


def figure(pairs: Sequence[tuple[Drawn, Drawn]], names: Sequence[str]) -> Figure:
    """Return the truth of each image above its detections."""
    columns = min(_COLUMNS, len(pairs))
    rows = 2 * -(-len(pairs) // columns)
    made = Figure(figsize=(_SIDE_INCHES * columns, _SIDE_INCHES * rows), layout="constrained")
    panels = made.subplots(rows, columns, squeeze=False)
    for axes in panels.ravel():
        axes.set_axis_off()
    for place, pair in enumerate(pairs):
        row, column = 2 * (place // columns), place % columns
        for below, (drawn, title) in enumerate(zip(pair, ("truth", "found"), strict=True)):
            _draw(panels[row + below, column], drawn, names, title)
    return made


def _draw(axes: Axes, drawn: Drawn, names: Sequence[str], title: str) -> None:
    height, width = drawn.image.shape[:2]
    axes.set_title(title, fontsize=9, loc="left")
    axes.imshow(drawn.image)
    for box, label, score, mask in zip(drawn.boxes, drawn.labels, drawn.scores, drawn.masks, strict=True):
        if score < _LEAST_SCORE:
            continue
        color = _COLORS[(label - 1) % len(_COLORS)]
        top, left, bottom, right = box.tolist()
        overlay = np.zeros((height, width, 4))
        overlay[..., :3] = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        overlay[..., 3] = 0.5 * paste(mask.astype(np.float32), box, height, width)
        axes.imshow(overlay)
        axes.add_patch(Rectangle((left - 0.5, top - 0.5), right - left, bottom - top, fill=False, edgecolor=color))
        words = names[label - 1] if title == "truth" else f"{names[label - 1]} {score:.2f}"
        # Inside the image: a name at its upper edge would be on the title.
        axes.text(
            left,
            max(top, 1),
            words,
            fontsize=6,
            va="top",
            bbox={"facecolor": color, "edgecolor": "none", "pad": 0.8},
            clip_on=True,
        )


def main(content: str, picture: str) -> None:
    """Draw the arrays of a file into another."""
    with np.load(content) as stored:
        count = len({name.split()[0] for name in stored.files if name != "names"})
        names = stored["names"].tolist()

        def drawn(row: int, column: int) -> Drawn:
            return Drawn(*(stored[f"{row} {column} {name}"] for name in Drawn._fields))

        pairs = [(drawn(row, 0), drawn(row, 1)) for row in range(count)]
    stream = io.BytesIO()
    figure(pairs, names).savefig(stream, format="png", dpi=110)
    write_atomically(Path(picture), stream.getvalue())


if __name__ == "__main__":
    main(*sys.argv[1:])
