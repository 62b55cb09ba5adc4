"""A rank's records in memory, not decoded: from the second epoch, the run does not read the file system."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from numpy.typing import NDArray

from ..runtime.errors import UserError
from .numbered_records import Records

if TYPE_CHECKING:
    import tensorflow as tf

_CGROUPS = Path("/sys/fs/cgroup")
_GIB = 2**30
_SMALLER = {
    "records": "give '--cache off' (the page cache keeps the records that fit)",
    "decoded": "give '--cache records', which needs about half, or '--cache off'",
}


class CachedRecords(Records):
    """Keeps the records of a range in memory after the first read."""

    def __init__(self, records: Records, kept: range) -> None:
        self._records, self._range = records, kept
        self._contents: dict[int, bytes] = {}
        self.damage, self.damaged, self.fingerprint = records.damage, records.damaged, records.fingerprint

    def __len__(self) -> int:
        return len(self._records)

    def sizes(self, numbers: Sequence[int]) -> NDArray[Any]:
        """Return the records' bytes on the disk."""
        return self._records.sizes(numbers)

    def read(self, numbers: Sequence[int]) -> list[bytes]:
        """Return contents, from the disk if they are not in memory."""
        numbers = [int(number) for number in numbers]
        missing = [number for number in numbers if number not in self._contents]
        read = dict(zip(missing, self._records.read(missing), strict=True))
        self._contents |= {number: content for number, content in read.items() if number in self._range}
        return [read[number] if number in read else self._contents[number] for number in numbers]

    def parse(self, contents: "tf.Tensor", numbers: "tf.Tensor") -> "tuple[tf.Tensor, ...]":
        """Return the JPEGs and labels, as the records do."""
        return self._records.parse(contents, numbers)

    def image(self, content: bytes, number: int) -> tuple[bytes, int]:
        """Return the JPEG and the label, as the records do."""
        return self._records.image(content, number)

    def where(self, number: int) -> str:
        """Return the record's place on the disk."""
        return self._records.where(number)


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a rank's cache."""

    needed: int
    """Bytes that the rank needs."""
    free: int
    """Bytes that are free on its machine, for all of its ranks."""
    ranks: int
    """Ranks of this machine or pod, which share its memory."""

    def sentence(self, kind: str) -> str:
        """Describe it.

        Args:
            kind: Given as '--cache'.
        """
        return (
            f"memory: '--cache {kind}' needs {self.needed / _GIB:.1f} GiB a rank, "
            f"{self.needed * self.ranks / _GIB:.1f} GiB for the {self.ranks} ranks of a machine, "
            f"where {self.free / _GIB:.1f} GiB are free"
        )


def needed(records: Records, kept: range) -> int:
    """Return the bytes of a range's records in memory."""
    return int(records.sizes(kept).sum())


def check(kind: str, needed: int, ranks: int) -> Memory:
    """Reject a cache that does not fit into a rank's part of the free memory.

    Args:
        kind: Given as '--cache'.
        needed: Bytes of this rank.
        ranks: Ranks of this machine or pod.
    """
    memory = Memory(needed, free_memory(), ranks)
    if needed * ranks > memory.free:
        raise UserError(
            f"'--cache {kind}' needs {needed / _GIB:.1f} GiB a rank, {needed * ranks / _GIB:.1f} GiB for the {ranks} "
            f"ranks of this machine, but {memory.free / _GIB:.1f} GiB are free; {_SMALLER[kind]}, or use more machines "
            "or larger ones"
        )
    return memory


def free_memory(cgroups: Path = _CGROUPS, membership: Path = Path("/proc/self/cgroup")) -> int:
    """Return the bytes that processes can still use: the machine's, or less with a cgroup's limit."""
    free: int = psutil.virtual_memory().available
    own = membership.read_text().rpartition("::/")[2].strip() if membership.exists() else ""
    # In a container the path may be the host's and not exist; then the container's limit is at the root.
    group = cgroups / own
    while group.is_relative_to(cgroups):
        limit = group / "memory.max"
        if limit.exists() and (text := limit.read_text().strip()) != "max":
            free = min(free, int(text) - _used(group))
        group = group.parent
    return max(free, 0)


def _used(group: Path) -> int:
    """Return the memory of a cgroup's processes, without the page cache, which the kernel can release."""
    statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    files = int(statistics["inactive_file"]) + int(statistics["active_file"])
    return int((group / "memory.current").read_text()) - files
