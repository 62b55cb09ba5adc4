"""Which rank a line of a launcher's output comes from: the launcher's tag, in a form that people read.

The tags, as these programs write them: Open MPI 4.1 `[1,3]<stdout>:text`, Open MPI 5 `[1,3]<stdout>: text` or with the
launcher's name `[prterun-host-123@1,3]<stdout>: text`, horovodrun `[3]<stdout>:text`.
"""

import re
from collections.abc import Iterator

__all__ = ["RankLines", "rank_line"]

_STREAM = r"<(?:stdout|stderr|stddiag)>:"
# The job within mpirun, a comma, the rank.
_MPI_TAG = re.compile(rf"\[(?:[^\[\]\s@]+@)?\d+,(\d+)\]{_STREAM}")
_HOROVOD_TAG = re.compile(rf"\[(\d+)\]{_STREAM}")


def rank_line(text: str) -> str:
    """A line with its rank in front, `rank  3 | text`, or as it is where no launcher has tagged it.

    Args:
        text: A line as the launcher wrote it.
    """
    if tag := _MPI_TAG.match(text):
        # The space is Open MPI 5's own. With Open MPI 4 an indented line comes one column to the left.
        shown = text[tag.end() :].removeprefix(" ")
    elif tag := _HOROVOD_TAG.match(text):
        shown = text[tag.end() :]
    else:
        return text
    # Two columns: the numbers of the ranks that fit on one node stay below one another.
    return f"rank {tag[1]:>2} | {shown}"


class RankLines:
    """Puts the pieces of one output together to whole lines, whatever bytes they are.

    Open MPI 4 tags every piece that it reads from a rank, so that a line which a rank wrote in two pieces comes with a
    tag in its middle, and with pieces of other ranks in between.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._begun: dict[str, str] = {}

    def feed(self, data: bytes) -> Iterator[str]:
        """Takes the next piece of the output and gives the lines that it ends, without their line ends.

        Args:
            data: What was read, of any length.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield self._whole(line)

    def end(self) -> Iterator[str]:
        """Gives what is left when the output ends: lines that nobody ended."""
        if self._rest:
            yield self._whole(self._rest)
        yield from map(rank_line, self._begun.values())
        self._rest, self._begun = b"", {}

    def _whole(self, line: bytes) -> str:
        """The last piece of a line ends its rank's line; the pieces before it are the beginnings of others."""
        text = line.decode(errors="surrogateescape")
        tags = list(_MPI_TAG.finditer(text))
        if not tags or tags[0].start() > 0:
            return rank_line(text)
        for tag, following in zip(tags, [*tags[1:], None], strict=True):
            piece = text[tag.end() : following.start() if following else None]
            self._begun[tag[1]] = self._begun.get(tag[1], tag.group()) + piece
        return rank_line(self._begun.pop(tags[-1][1]))
