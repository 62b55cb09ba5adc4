"""The checksums that S3 has of an object, and the same checksums of the bytes that arrived.

An object that was uploaded in parts may only have a checksum of its parts' checksums, which is computed part by part.
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
    """A CRC with hashlib's interface."""

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
    """The number of parts whose checksums it is made of; None for a checksum of the whole content."""

    @property
    def name(self) -> str:
        """Return the name in a run's summary."""
        return self.algorithm if self.parts is None else f"{self.algorithm} of parts"


def expected(response: Mapping[str, Any]) -> Expected | None:
    """Return the checksum in a response to HeadObject or GetObject; None if S3 only has the size."""
    for algorithm in _ALGORITHMS:
        if value := response.get(f"Checksum{algorithm}"):
            digest, _, parts = value.partition("-")
            return Expected(algorithm, base64.b64decode(digest), int(parts) if parts else None)
    # The ETag is an MD5 unless the object is encrypted with a KMS key or a customer's key.
    # https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
    found = re.fullmatch(r'"([0-9a-f]{32})(?:-([0-9]+))?"', response["ETag"])
    if found and response.get("ServerSideEncryption", "AES256") == "AES256" and "SSECustomerAlgorithm" not in response:
        return Expected("MD5", bytes.fromhex(found[1]), int(found[2]) if found[2] else None)
    return None


def part_sizes(size_of: Callable[[int], int], parts: int, size: int) -> list[int]:
    """Return the parts' sizes, with two requests if all but the last are equal, as common programs make them.

    Args:
        size_of: Requests the size of a part, counted from 1.
        parts: Number of parts.
        size: Bytes of the object.
    """
    first, last = size_of(1), size_of(parts)
    if first * (parts - 1) + last == size:
        return [*repeat(first, parts - 1), last]
    return [size_of(number) for number in range(1, parts + 1)]


class Verifier:
    """Compares a content with the checksum of an object."""

    def __init__(self, wanted: Expected, sizes: list[int]) -> None:
        """Start without content.

        Args:
            wanted: The checksum in S3.
            sizes: The parts' sizes if the checksum is made of parts; otherwise empty.
        """
        self._wanted, self._sizes = wanted, sizes
        self._new = _ALGORITHMS[wanted.algorithm]
        self._digest, self._digests = self._new(), b""
        self._left = sizes[0] if sizes else 0
        self._finished = 0

    def update(self, data: memoryview) -> None:
        """Add the next bytes."""
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
        """Return whether the content is complete and correct."""
        if not self._sizes:
            return self._digest.digest() == self._wanted.digest
        whole = self._new()
        whole.update(memoryview(self._digests))
        return self._finished == len(self._sizes) and whole.digest() == self._wanted.digest
