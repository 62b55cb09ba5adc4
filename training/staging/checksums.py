"""What S3 knows of an object's content, and the same computed over the bytes that arrived.

An object uploaded in parts may have a checksum of its parts' checksums only; it is then computed part by part.
https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, Protocol

from awscrt import checksums


class _Digest(Protocol):
    def update(self, data: memoryview, /) -> None: ...

    def digest(self) -> bytes: ...


class _Crc:
    """A CRC with the interface of hashlib."""

    def __init__(self, function: Callable[[memoryview, int], int], width: int) -> None:
        self._function, self._width, self._value = function, width, 0

    def update(self, data: memoryview, /) -> None:
        self._value = self._function(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._width, "big")


_ALGORITHMS: dict[str, Callable[[], _Digest]] = {
    "CRC64NVME": partial(_Crc, checksums.crc64nvme, 8),
    "CRC32C": partial(_Crc, checksums.crc32c, 4),
    "CRC32": partial(_Crc, checksums.crc32, 4),
    "SHA256": hashlib.sha256,
    "SHA1": partial(hashlib.sha1, usedforsecurity=False),
    "MD5": partial(hashlib.md5, usedforsecurity=False),
}


@dataclass(frozen=True, slots=True)
class Expected:
    """The checksum that an object's content must have."""

    algorithm: str
    digest: bytes
    parts: int | None = None
    """How many parts' checksums it was made of; None where it is that of the whole content."""

    @property
    def name(self) -> str:
        """As the last sentence of a run calls it."""
        return self.algorithm if self.parts is None else f"{self.algorithm} of parts"


def expected(response: Mapping[str, Any]) -> Expected | None:
    """Finds the checksum in the answer to HeadObject or GetObject; None where the size is all that S3 tells."""
    for algorithm in _ALGORITHMS:
        if value := response.get(f"Checksum{algorithm}"):
            digest, _, parts = value.partition("-")
            return Expected(algorithm, base64.b64decode(digest), int(parts) if parts else None)
    # The ETag is made of MD5 unless the object is encrypted with a key of KMS or of the customer's.
    # https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
    found = re.fullmatch(r'"([0-9a-f]{32})(?:-([0-9]+))?"', response["ETag"])
    if found and response.get("ServerSideEncryption", "AES256") == "AES256" and "SSECustomerAlgorithm" not in response:
        return Expected("MD5", bytes.fromhex(found[1]), int(found[2]) if found[2] else None)
    return None


def part_sizes(size_of: Callable[[int], int], parts: int, size: int) -> list[int]:
    """Finds the parts' sizes, in two requests where all but the last are equal, as all common programs make them.

    Args:
        size_of: Asks S3 for the size of a part, counted from 1.
        parts: How many there are.
        size: Bytes of the object.
    """
    first, last = size_of(1), size_of(parts)
    if first * (parts - 1) + last == size:
        return [*repeat(first, parts - 1), last]
    return [size_of(number) for number in range(1, parts + 1)]


class Verifier:
    """Takes in a content and says whether it is the one that S3 holds."""

    def __init__(self, wanted: Expected, sizes: list[int]) -> None:
        """Begins.

        Args:
            wanted: What S3 says.
            sizes: Of the parts, where the checksum is made of parts; otherwise empty.
        """
        self._wanted, self._sizes = wanted, sizes
        self._new = _ALGORITHMS[wanted.algorithm]
        self._digest, self._digests = self._new(), b""
        self._left = sizes[0] if sizes else 0
        self._finished = 0

    def update(self, data: memoryview) -> None:
        """Takes in the next bytes."""
        while self._sizes and len(data) >= self._left and self._finished < len(self._sizes):
            self._digest.update(data[: self._left])
            data = data[self._left :]
            self._finish_part()
        self._digest.update(data)
        self._left -= len(data)

    def _finish_part(self) -> None:
        self._digests += self._digest.digest()
        self._digest = self._new()
        self._finished += 1
        self._left = self._sizes[self._finished] if self._finished < len(self._sizes) else 0

    def matches(self) -> bool:
        """Whether it was all there and right."""
        if not self._sizes:
            return self._digest.digest() == self._wanted.digest
        whole = self._new()
        whole.update(memoryview(self._digests))
        return self._finished == len(self._sizes) and whole.digest() == self._wanted.digest
