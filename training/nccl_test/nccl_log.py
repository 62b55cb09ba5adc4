"""The parser of nccl-tests' output: the table of bandwidths, the ranks, and NCCL's lines about the network.

The table is defined in https://github.com/NVIDIA/nccl-tests (src/common.cu, src/util.cu). Its header names the columns,
whose number differs between releases.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from training.pods.nccl_lines import NcclLines, Network

# The prefix of a line when mpirun tags its output: "[1,0]<stdout>:", and since Open MPI 5 "[name@1,0]<stdout>: ".
_TAG = re.compile(r"^\[[^\]\s]*\d+,\s*\d+\]<\w+>: ?")
_HEADER = re.compile(r"^#\s+size\s+count\s+type\s.*\bbusbw\b")
_ROW = re.compile(r"^\s*\d+\s+\d+\s+[a-z]\w*\s")
_OUT_OF_BOUNDS = re.compile(r"^#\s*Out of bounds values\s*:\s*(\d+)")
# Older releases print no group.
_RANK = re.compile(r"^#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device")


@dataclass(frozen=True, slots=True)
class Row:
    """One message size; bandwidths in GB/s (10^9 bytes), as nccl-tests prints them."""

    size: int
    """Bytes of the message."""
    out_of_place: float
    """Bus bandwidth into another buffer."""
    in_place: float
    """Bus bandwidth into the same buffer."""
    wrong: int
    """The number of wrong values; 0 if the test did not count them."""


@dataclass(slots=True)
class Log:
    """The content of the output so far."""

    rows: list[Row] = field(default_factory=list)
    out_of_bounds: int | None = None
    """The number of wrong values in the whole test, from its last lines."""
    ranks: dict[int, str] = field(default_factory=dict)
    """The node of each rank."""
    _nccl: NcclLines = field(default_factory=NcclLines)
    _columns: list[str] = field(default_factory=list)

    @property
    def networks(self) -> dict[str, Network]:
        """Return the network of each node."""
        return self._nccl.networks

    @property
    def nodes(self) -> list[str]:
        """Return the nodes that took part, in the order of their ranks."""
        return list(dict.fromkeys([self.ranks[rank] for rank in sorted(self.ranks)] or self.networks))

    def read(self, line: str) -> None:
        """Parse one line of the output."""
        line = _TAG.sub("", line.rstrip("\r\n"))
        if _HEADER.match(line):
            self._columns = line.lstrip("#").split()
        elif self._columns and _ROW.match(line):
            self._read_row(line.split())
        elif found := _OUT_OF_BOUNDS.match(line):
            self.out_of_bounds = int(found[1])
        elif found := _RANK.match(line):
            self.ranks[int(found[1])] = found[2]
        else:
            self._nccl.read(line)

    def _read_row(self, words: list[str]) -> None:
        # Another rank's output can split a line: that is not a row.
        if len(words) < len(self._columns):
            return
        pairs = list(zip(self._columns, words, strict=False))
        out_of_place, in_place = _numbers(word for name, word in pairs if name == "busbw")
        # The older column "error" has the largest difference; the test's last lines compare it with its bound.
        wrong = sum(_numbers(word for name, word in pairs if name == "#wrong" and word != "N/A"))
        self.rows.append(Row(int(words[0]), out_of_place, in_place, int(wrong)))


def _numbers(words: Iterable[str]) -> list[float]:
    return [float(word) for word in words]
