"""Which address in a registry an image of this machine was pushed to; `trainctl render` takes it from there."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from training_workloads.validation import InputError

__all__ = ["PUSHED_IMAGES", "pushed_images", "record_push"]

#: The file, in the folder in which `trainctl` runs.
PUSHED_IMAGES: Final = Path("dist/images.json")


def pushed_images() -> Mapping[str, str]:
    """Return the addresses, by the names of the images on this machine.

    Raises:
        InputError: The file was damaged.
    """
    if not PUSHED_IMAGES.is_file():
        return {}
    try:
        found = json.loads(PUSHED_IMAGES.read_text(encoding="utf-8"))
        return {str(name): str(address) for name, address in found.items()}
    except (ValueError, AttributeError) as error:
        text = f"{PUSHED_IMAGES}: no object of JSON ({error}); remove it, and push the image again"
        raise InputError(text) from error


def record_push(name: str, address: str) -> None:
    """Record where an image was pushed to."""
    found = dict(pushed_images()) | {name: address}
    PUSHED_IMAGES.parent.mkdir(parents=True, exist_ok=True)
    PUSHED_IMAGES.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
