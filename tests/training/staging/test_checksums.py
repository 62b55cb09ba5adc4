import base64
import hashlib

import pytest

from training.staging.checksums import Expected, Verifier, expected, part_sizes

CONTENT = b"123456789"
TAG = '"25f9e794323b453885f5181f1b624d0b"'


# The check values of https://reveng.sourceforge.io/crc-catalogue/ for these nine bytes.
@pytest.mark.parametrize(
    ("algorithm", "digest"), [("CRC64NVME", "ae8b14860a799888"), ("CRC32C", "e3069283"), ("CRC32", "cbf43926")]
)
def test_crcs_have_their_published_check_values(algorithm: str, digest: str) -> None:
    verifier = Verifier(Expected(algorithm, bytes.fromhex(digest)), [])
    verifier.update(memoryview(CONTENT[:4]))
    verifier.update(memoryview(CONTENT[4:]))
    assert verifier.matches()
    verifier.update(memoryview(b"0"))
    assert not verifier.matches()


@pytest.mark.parametrize(
    ("response", "found"),
    [
        ({"ChecksumCRC64NVME": "rosUhgp5mIg=", "ETag": TAG}, ("CRC64NVME", "ae8b14860a799888", None)),
        ({"ChecksumCRC32": "y/Q5Jg==-3", "ETag": '"x-3"'}, ("CRC32", "cbf43926", 3)),
        ({"ETag": TAG}, ("MD5", "25f9e794323b453885f5181f1b624d0b", None)),
        ({"ETag": TAG, "ServerSideEncryption": "AES256"}, ("MD5", "25f9e794323b453885f5181f1b624d0b", None)),
        ({"ETag": TAG[:-1] + '-12"'}, ("MD5", "25f9e794323b453885f5181f1b624d0b", 12)),
        ({"ETag": TAG, "ServerSideEncryption": "aws:kms"}, None),
        ({"ETag": TAG, "ServerSideEncryption": "aws:kms:dsse"}, None),
        ({"ETag": TAG, "SSECustomerAlgorithm": "AES256"}, None),
        ({"ETag": '"something else"'}, None),
    ],
)
def test_finds_the_checksum_in_a_response(response: dict[str, str], found: tuple[str, str, int | None] | None) -> None:
    assert expected(response) == (found and Expected(found[0], bytes.fromhex(found[1]), found[2]))


@pytest.mark.parametrize("step", [1, 2, 4, 5, 9, 100])
def test_a_checksum_of_parts_is_independent_of_the_chunks(step: int) -> None:
    parts = [b"1234", b"5678", b"9"]
    digest = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()
    verifier = Verifier(Expected("SHA256", digest, 3), [4, 4, 1])
    for start in range(0, 9, step):
        assert not verifier.matches()
        verifier.update(memoryview(CONTENT)[start : start + step])
    assert verifier.matches()


def test_other_part_sizes_give_another_checksum() -> None:
    digest = hashlib.md5(hashlib.md5(b"12345").digest() + hashlib.md5(b"6789").digest()).digest()
    for sizes, right in (([5, 4], True), ([4, 5], False), ([5, 5], False)):
        verifier = Verifier(Expected("MD5", digest, 2), sizes)
        verifier.update(memoryview(CONTENT))
        assert verifier.matches() == right


@pytest.mark.parametrize(
    ("sizes", "asked"), [([8, 8, 8, 3], [1, 4]), ([9], [1, 1]), ([8, 9, 3], [1, 3, 1, 2, 3]), ([5, 5], [1, 2])]
)
def test_equal_parts_need_two_requests(sizes: list[int], asked: list[int]) -> None:
    numbers: list[int] = []

    def size_of(number: int) -> int:
        numbers.append(number)
        return sizes[number - 1]

    assert part_sizes(size_of, len(sizes), sum(sizes)) == sizes
    assert numbers == asked


def test_the_name_includes_of_parts() -> None:
    assert Expected("MD5", b"").name == "MD5"
    assert Expected("MD5", b"", 2).name == "MD5 of parts"
    assert base64.b64encode(bytes.fromhex("cbf43926")) == b"y/Q5Jg=="
