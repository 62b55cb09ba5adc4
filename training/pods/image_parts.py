"""The parts that the check of each image looks at, whatever its framework is: Python, and NCCL."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from training.pods import device_checks
from training.pods.requested import Requested

__all__ = ["new_enough", "one_nccl", "python", "verdict"]

#: NCCL's own number of 2.18.5, the first for P5; the EFA plugin needs 2.17.1 (https://github.com/aws/aws-ofi-nccl).
_OLDEST_NCCL = 21805


def python(level: str) -> Iterator[str]:
    """Yield that Python is no release: distributions keep release candidates without updates."""
    if level != "final":
        yield f"Python {sys.version.split()[0]} is no release; build with a Python that gets security updates"


def new_enough(number: int, which: str) -> Iterator[str]:
    """Yield that an NCCL is too old.

    Args:
        number: Its own number, such as 21805.
        which: Whose it is, such as "the image loads".
    """
    if number < _OLDEST_NCCL:
        yield f"{which} NCCL {_words(number)}; P5 and the EFA plugin need {_words(_OLDEST_NCCL)} or newer"


def one_nccl(maps: str) -> Iterator[str]:
    """Yield that a process has several NCCLs: the EFA plugin would be that of one of them."""
    found = sorted(set(re.findall(r"/\S*libnccl\.so\S*", maps)))
    if len(found) > 1:
        yield f"a rank loads several NCCLs: {', '.join(found)}; keep one"


def verdict(problems: Sequence[str], root: Path) -> int:
    """Print the problems of an image, and those of its EFA plugin; return 1 if there are any."""
    found = list(problems)
    if (root / "opt/amazon/efa").exists():
        found += map(str, device_checks.efa_plugin(Requested(efa=1), root))
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if found else 0


def _words(number: int) -> str:
    """Return 21805 as 2.18.5."""
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"
