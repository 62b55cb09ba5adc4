"""The unit of sizes: AWS bills storage that it writes as GB by 2^30 bytes too."""

from typing import Final

__all__ = ["GIB"]

#: Bytes of a GiB.
GIB: Final = 1024**3
