"""The images of a ZIP archive: the program lists them and does not extract them."""

import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from ...runtime.errors import UserError
from .source_images import DamagedImageError, SourceImage, read_range

# A member's own header, before its name: signature, 22 bytes that the list of members repeats, and two lengths.
_HEADER = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class ZipImage(SourceImage):
    """An image in a ZIP archive: `offset` is that of its header, and `size` is that of its data in the archive."""

    checksum: int = field(kw_only=True)
    """CRC-32 of the image."""
    deflated: bool = field(kw_only=True)
    """Whether it is compressed; otherwise it is stored."""

    def read(self) -> bytes:
        """Return the content.

        Raises:
            DamagedImageError: It does not match its checksum.
            UserError: The archive cannot be read, which concerns all its images.
        """
        signature, name, extra = _HEADER.unpack(read_range(self.file, self.offset, _HEADER.size))
        if signature != _SIGNATURE:
            raise DamagedImageError("has a damaged header in the archive")
        content = read_range(self.file, self.offset + _HEADER.size + name + extra, self.size)
        try:
            content = zlib.decompress(content, -zlib.MAX_WBITS) if self.deflated else content
        except zlib.error as error:
            raise DamagedImageError(f"cannot be decompressed ({error})") from error
        if zlib.crc32(content) != self.checksum:
            raise DamagedImageError("does not match the archive's checksum")
        return content


def images(path: Path) -> list[ZipImage]:
    """List the files in an archive, without hidden ones.

    Raises:
        UserError: It is not an archive, is cut off, or has members that are encrypted or compressed by another method.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise UserError(f"{path} cannot be listed ({error}); it is damaged or cut off: download it again") from error
    found = []
    for member in members:
        if Path(member.filename).name.startswith("."):
            continue
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UserError(f"{path} contains {member.filename}, which is encrypted or not deflated; pack it again")
        found.append(
            ZipImage(
                str(path),
                member.filename,
                member.header_offset,
                member.compress_size,
                checksum=member.CRC,
                deflated=member.compress_type == zipfile.ZIP_DEFLATED,
            )
        )
    return found
