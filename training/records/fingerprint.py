"""The fingerprint of a dataset: by it a resumed run knows that its record numbers still mean the same records.

It has an entry for each file or class folder, made of values that a start reads anyway: names, sizes and the places of
the records. A file with other content, but records of the same sizes in the same order, is not recognized.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..runtime import listing
from ..runtime.errors import UserError
from .tfrecords import Shard

# The number of names that a message shows.
_SHOWN = 5


def of_shards(shards: Sequence[Shard]) -> dict[str, str]:
    """Return an entry for each shard: its records, its bytes, and a digest of the records' offsets."""
    return {
        shard.path.name: f"{len(shard)} records, {shard.bounds[-1]} bytes, {_digest(shard.bounds.tobytes())}"
        for shard in shards
    }


def of_folders(split: str, classes: Sequence[str], files: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return an entry for each class folder of a split: its files, and a digest of their names."""
    return {
        f"{split}/{name}": f"{len(names)} files, {_digest('/'.join(names).encode(errors='surrogateescape'))}"
        for name, names in zip(classes, files, strict=True)
    }


def check(output: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Reject another dataset than that of the run.

    Args:
        output: The folder given as '--output-dir'.
        before: The fingerprint when the run began.
        now: The present fingerprint.

    Raises:
        UserError: A file is another one, is missing, or is new.
    """
    changes = [
        f"{name} {_change(before.get(name), now.get(name))}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if changes:
        raise UserError(
            f"the dataset is not that of the run in {output}: {listing.first(changes, _SHOWN)}; put back its files, "
            "or give another '--output-dir' to start a new run"
        )


def _change(before: str | None, now: str | None) -> str:
    if before is None:
        return "is new"
    return "is missing" if now is None else f"is another ({now} instead of {before})"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
