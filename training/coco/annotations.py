"""The annotations of a split (instances_*.json), checked, with the labels of a network."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.coco import categories as coco_categories
from training.coco import segmentation
from training.coco.categories import Category
from training.runtime.errors import UserError
from training.runtime.files import write_atomically

#: In the folder of the shards: the annotations of their validation images, as pycocotools reads them.
TRUTH = "instances_validation.json"

_LISTS = ("images", "annotations", "categories")


@dataclass(frozen=True, slots=True)
class AnnotatedObject:
    """An object of an image, or a crowd region."""

    entry: Mapping[str, Any]
    """Entry of the file."""
    label: int
    """From 1."""
    box: tuple[float, float, float, float]
    """y1, x1, y2, x2 in pixels, continuous coordinates, inside the image."""

    @property
    def is_crowd(self) -> bool:
        """Return whether it is a region with several objects."""
        return bool(self.entry.get("iscrowd", 0))


@dataclass(frozen=True, slots=True)
class AnnotatedImage:
    """An image and its objects."""

    entry: Mapping[str, Any]
    """Entry of the file."""
    objects: list[AnnotatedObject] = field(default_factory=list)

    @property
    def image_id(self) -> int:
        """Return COCO's id."""
        return int(self.entry["id"])

    @property
    def shape(self) -> tuple[int, int]:
        """Return height and width, pixels."""
        return self.entry["height"], self.entry["width"]


@dataclass(slots=True)
class Annotations:
    """The annotations of a split."""

    place: str
    """The file, for messages."""
    categories: Sequence[Category]
    images: dict[int, AnnotatedImage] = field(default_factory=dict)
    """By COCO's id."""
    problems: list[str] = field(default_factory=list)
    """Problems of single images and objects, which are not in `images`; a sentence each."""
    cut: list[str] = field(default_factory=list)
    """The objects whose box is cut at the image; a sentence each."""
    without_area: list[str] = field(default_factory=list)
    """The objects whose box has no area, which are not in `images`; a sentence each. COCO 2017 has some."""


def parse(content: bytes, place: str) -> Annotations:
    """Return the annotations of a file.

    Args:
        content: JSON.
        place: For messages.

    Raises:
        UserError: The file is damaged, or its categories are.
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place} is not JSON ({error}); download it again") from error
    if missing := [name for name in _LISTS if not isinstance(data, dict) or not isinstance(data.get(name), list)]:
        raise UserError(f"{place} has no lists {', '.join(missing)}; give the file instances_*.json of the objects")
    found = Annotations(place, _categories(data["categories"], place))
    for entry in data["images"]:
        if (problem := _problem_of_image(entry, found)) is not None:
            found.problems.append(f"{place}: {problem}")
        else:
            found.images[entry["id"]] = AnnotatedImage(entry)
    _add_objects(found, data["annotations"])
    return found


def _categories(entries: Sequence[Any], place: str) -> list[Category]:
    try:
        named = [(entry["id"], entry["name"]) for entry in entries]
    except (TypeError, KeyError) as error:
        raise UserError(f"{place} has a category without an id or a name; download the file again") from error
    for number in (0, 1):
        values = [pair[number] for pair in named]
        repeated = [value for value in values if values.count(value) > 1]
        if repeated:
            raise UserError(f"{place} has two categories {repeated[0]!r}; give each another id and another name")
    if not named or not all(_is_id(coco_id) and isinstance(name, str) for coco_id, name in named):
        raise UserError(f"{place} needs categories, each with a whole number as id and a name; fix it")
    return coco_categories.labelled(named)


def _is_id(value: Any) -> bool:
    return type(value) is int and value >= 0


def _problem_of_image(entry: Any, found: Annotations) -> str | None:
    if not isinstance(entry, dict) or not _is_id(entry.get("id")):
        return f"the image {str(entry)[:100]} has no id"
    name, sizes = entry.get("file_name"), (entry.get("height"), entry.get("width"))
    if entry["id"] in found.images:
        return f"image {entry['id']} occurs twice"
    if not isinstance(name, str) or not name or "/" in name:
        return f"image {entry['id']} has the file name {name!r}; it takes one without folders"
    if not all(type(size) is int and size > 0 for size in sizes):
        return f"image {entry['id']} has the height and width {sizes}"
    return None


class _ProblemError(Exception):
    """One annotation is damaged; the others are used."""


def _add_objects(found: Annotations, entries: Sequence[Any]) -> None:
    """Add each object to its image, or to the problems."""
    labels = {category.coco_id: category.label for category in found.categories}
    seen: set[int] = set()
    for entry in entries:
        name = entry.get("id") if isinstance(entry, dict) else str(entry)[:100]
        where = f"{found.place}: annotation {name}"
        try:
            _check_id(name, seen)
            image = found.images.get(entry["image_id"]) if _is_id(entry.get("image_id")) else None
            if image is None:
                raise _ProblemError(f"is of image {entry.get('image_id')!r}, which is not among the images")
            box = _box(entry, *image.shape)
            if box is None:
                found.without_area.append(f"{where} of image {image.image_id} has a box without an area")
                continue
            image.objects.append(_object(entry, box, labels, *image.shape))
            if _reaches_outside(entry["bbox"], *image.shape):
                found.cut.append(f"{where} of image {image.image_id} has a box that ends outside the image")
        except _ProblemError as problem:
            found.problems.append(f"{where} {problem}")


def _check_id(value: Any, seen: set[int]) -> None:
    # 0: pycocotools takes it for "no object".
    if not _is_id(value) or value == 0:
        raise _ProblemError("has no id; it takes a whole number, 1 or more")
    if value in seen:
        raise _ProblemError("occurs twice")
    seen.add(value)


def _box(entry: Mapping[str, Any], height: int, width: int) -> tuple[float, float, float, float] | None:
    """Return the part of a box that is inside the image: y1, x1, y2, x2; None if the box has no area."""
    given = entry.get("bbox")
    if not isinstance(given, list) or len(given) != 4 or not all(map(segmentation.is_number, given)):
        raise _ProblemError(f"has the box {given!r}; it takes four numbers: x, y, width, height")
    x, y, box_width, box_height = given
    if box_width <= 0 or box_height <= 0:
        return None
    y1, x1, y2, x2 = max(y, 0.0), max(x, 0.0), min(y + box_height, height), min(x + box_width, width)
    if y1 >= y2 or x1 >= x2:
        raise _ProblemError(f"has the box {given}, outside its image of {width} x {height} pixels")
    return float(y1), float(x1), float(y2), float(x2)


def _reaches_outside(given: Sequence[float], height: int, width: int) -> bool:
    """Return whether a box ends more than a pixel outside; boxes of COCO end a hundredth of a pixel outside."""
    x, y, box_width, box_height = given
    return min(x, y) < -1 or x + box_width > width + 1 or y + box_height > height + 1


def _object(
    entry: Mapping[str, Any],
    box: tuple[float, float, float, float],
    labels: Mapping[int, int],
    height: int,
    width: int,
) -> AnnotatedObject:
    label = labels.get(entry["category_id"]) if _is_id(entry.get("category_id")) else None
    if label is None:
        raise _ProblemError(f"has the category {entry.get('category_id')!r}, which is not among the categories")
    if not segmentation.is_number(entry.get("area")) or entry["area"] < 0:
        raise _ProblemError(f"has the area {entry.get('area')!r}; it takes a number of pixels")
    if entry.get("iscrowd", 0) not in (0, 1):
        raise _ProblemError(f"has the value {entry['iscrowd']!r} for iscrowd; it takes 0 or 1")
    if problem := segmentation.problem(entry.get("segmentation"), height, width):
        raise _ProblemError(problem)
    return AnnotatedObject(entry, label, box)


def write_truth(folder: Path, annotations: Annotations, written: set[int]) -> None:
    """Write the annotations with which an evaluation compares, as they are in the source, each with `iscrowd`.

    Args:
        folder: With the shards.
        annotations: Annotations of the split.
        written: COCO's ids of the images in the shards.
    """
    images = [image for image_id, image in sorted(annotations.images.items()) if image_id in written]
    truth: dict[str, Any] = {
        "images": [image.entry for image in images],
        "annotations": [{**each.entry, "iscrowd": int(each.is_crowd)} for image in images for each in image.objects],
        "categories": [{"id": each.coco_id, "name": each.name} for each in annotations.categories],
    }
    write_atomically(folder / TRUTH, json.dumps(truth).encode())
