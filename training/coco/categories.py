"""The categories of a dataset in COCO's format, and the labels of a network.

COCO's ids have gaps (1 to 90 for 80 categories); labels have none: label 1 is the smallest id, and 0 is the background.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from training.runtime.errors import UserError
from training.runtime.files import write_json

NAME = "categories.json"


@dataclass(frozen=True, slots=True)
class Category:
    """A category, in the dataset and in the network."""

    label: int
    """From 1, without gaps."""
    coco_id: int
    """In the annotations."""
    name: str
    """Such as "person"."""


def labelled(names: Sequence[tuple[int, str]]) -> list[Category]:
    """Return the categories of these ids and names, in the order of the ids."""
    return [Category(label, coco_id, name) for label, (coco_id, name) in enumerate(sorted(names), start=1)]


def write(folder: Path, categories: Sequence[Category]) -> None:
    """Write the categories beside the shards."""
    write_json(folder / NAME, {"categories": [asdict(category) for category in categories]})


def read(folder: Path) -> list[Category]:
    """Return the categories of converted shards.

    Raises:
        UserError: The file is missing or damaged.
    """
    path = folder / NAME
    try:
        return [Category(**entry) for entry in json.loads(path.read_bytes())["categories"]]
    except FileNotFoundError as error:
        raise UserError(
            f"'--data-dir' is {folder}, which has no {NAME}; convert COCO first: python -m training.coco.convert --help"
        ) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} cannot be read ({error}); copy it or convert the images again") from error
