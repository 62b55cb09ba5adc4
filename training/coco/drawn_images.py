"""Made images in COCO's format: large bright shapes that cover one another, on noise, with exact masks.

An outline is drawn by pycocotools' rasterizer, so that its polygon is exactly its pixels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask

#: The categories by COCO's ids, with a gap as COCO has.
CATEGORIES = {1: "circle", 2: "rectangle", 3: "triangle", 5: "star"}

# Height and width: all buckets of a short side of 128 and more.
_SIZES = ((120, 160), (144, 192), (128, 192), (144, 216), (120, 208), (128, 220))
_SIZES_OF_BOTH = (*_SIZES, *((width, height) for height, width in _SIZES), (160, 160))

_EMPTY, _WITH_CROWD = 0.08, 0.1
_SHAPES = (1, 2, 2, 3, 3, 4)
# The radius, as a part of the image's short side.
_RADII = (0.17, 0.32)
_CROWD_RADII = (0.06, 0.09)
_CROWD = 8
# The smallest visible part of a shape that others cover.
_VISIBLE = 0.6
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Drawing:
    """An image and its annotations."""

    pixels: NDArray[np.uint8]
    """Height x width x 3."""
    objects: list[dict[str, Any]]
    """Without ids: category_id, iscrowd, area, bbox and segmentation."""


@dataclass(slots=True)
class _Shape:
    category: int
    polygon: list[float]
    whole: NDArray[np.bool_]
    """Its pixels, without others before it."""
    visible: NDArray[np.bool_]


def draw(seed: int, split: int, number: int) -> Drawing:
    """Draw one image, always the same for the same numbers."""
    random = np.random.default_rng([seed, split, number])
    height, width = _SIZES_OF_BOTH[random.integers(len(_SIZES_OF_BOTH))]
    pixels = random.integers(90, 166, (height, width, 3), dtype=np.uint8)
    if random.random() < _EMPTY:
        return Drawing(pixels, [])
    crowd = _crowd(random, height, width) if random.random() < _WITH_CROWD else []
    placed = list(crowd)
    for _ in range(int(random.choice(_SHAPES))):
        _place(random, placed, height, width)
    for shape in placed:
        pixels[shape.visible] = _color(random)
    objects = [_annotation(shape) for shape in placed[len(crowd) :]]
    return Drawing(pixels, [*objects, *_crowd_annotations(crowd)])


def _crowd(random: np.random.Generator, height: int, width: int) -> list[_Shape]:
    """Return many small shapes of one category, side by side in one part of the image."""
    category = int(random.choice(list(CATEGORIES)))
    side = min(height, width)
    centre = random.uniform(0.3, 0.7, 2) * (width, height)
    shapes: list[_Shape] = []
    for _ in range(_CROWD):
        place = centre + random.uniform(-0.2, 0.2, 2) * side
        shape = _shape(random, category, place, random.uniform(*_CROWD_RADII) * side, height, width)
        for other in shapes:
            other.visible &= ~shape.whole
        shapes.append(shape)
    return shapes


def _place(random: np.random.Generator, placed: list[_Shape], height: int, width: int) -> None:
    """Add a shape before the others that leaves most of each visible; add none if it finds no place."""
    side = min(height, width)
    for _ in range(_ATTEMPTS):
        radius = random.uniform(*_RADII) * side
        place = random.uniform(0.8 * radius, (width, height) - np.full(2, 0.8 * radius))
        shape = _shape(random, int(random.choice(list(CATEGORIES))), place, radius, height, width)
        left = [other.visible & ~shape.whole for other in placed]
        if all(part.sum() >= _VISIBLE * other.whole.sum() for part, other in zip(left, placed, strict=True)):
            for other, part in zip(placed, left, strict=True):
                other.visible = part
            placed.append(shape)
            return


def _shape(
    random: np.random.Generator, category: int, centre: NDArray[Any], radius: float, height: int, width: int
) -> _Shape:
    points = np.array(list(_outline(random, CATEGORIES[category]))) * radius + centre
    polygon = np.clip(points, 0, (width, height)).round(2).ravel().tolist()
    whole = mask.decode(mask.frPyObjects([polygon], height, width))[..., 0].astype(bool)
    return _Shape(category, polygon, whole, whole.copy())


def _outline(random: np.random.Generator, name: str) -> Iterator[tuple[float, float]]:
    """Yield the points of an outline around 0 with the radius 1, turned at random."""
    turned = random.uniform(0, 2 * np.pi)
    if name == "rectangle":
        corner = random.uniform(0.5, 0.8)
        angles, radii = np.array([corner, np.pi - corner, np.pi + corner, -corner]), np.ones(4)
    else:
        corners = {"circle": 32, "triangle": 3, "star": 10}[name]
        angles = np.arange(corners) * 2 * np.pi / corners
        radii = np.where(np.arange(corners) % 2, 0.42, 1.0) if name == "star" else np.ones(corners)
    yield from zip(radii * np.cos(angles + turned), radii * np.sin(angles + turned), strict=True)


def _color(random: np.random.Generator) -> NDArray[np.uint8]:
    """Return a bright colour: one channel is high and one is low, beyond those of the noise."""
    return random.permutation([random.integers(210, 256), random.integers(0, 50), random.integers(256)]).astype(
        np.uint8
    )


def _annotation(shape: _Shape) -> dict[str, Any]:
    """Return a polygon where the shape is whole, and else an RLE of its visible part."""
    covered = bool((shape.visible != shape.whole).any())
    encoded = _encoded(shape.visible)
    segmentation: Any = [shape.polygon]
    if covered:
        segmentation = {"size": list(shape.visible.shape), "counts": encoded["counts"].decode()}
    return _entry(shape.category, encoded, segmentation, crowd=0)


def _crowd_annotations(crowd: list[_Shape]) -> list[dict[str, Any]]:
    """Return one region for all shapes of a crowd, with counts that are not compressed, as COCO's."""
    visible = np.any([shape.visible for shape in crowd], axis=0) if crowd else np.zeros((1, 1), bool)
    if not visible.any():
        return []
    columns = visible.ravel(order="F")
    edges = np.flatnonzero(np.diff(columns)) + 1
    runs = np.diff([0, *edges, len(columns)]).tolist()
    counts = [0, *runs] if columns[0] else runs
    return [_entry(crowd[0].category, _encoded(visible), {"size": list(visible.shape), "counts": counts}, crowd=1)]


def _encoded(pixels: NDArray[np.bool_]) -> dict[str, Any]:
    encoded: dict[str, Any] = mask.encode(np.asfortranarray(pixels, np.uint8))
    return encoded


def _entry(category: int, encoded: dict[str, Any], segmentation: Any, *, crowd: int) -> dict[str, Any]:
    return {
        "category_id": category,
        "iscrowd": crowd,
        "area": float(mask.area(encoded)),
        "bbox": mask.toBbox(encoded).tolist(),
        "segmentation": segmentation,
    }
