"""Checkpoints that are damaged between two starts."""

from collections.abc import Callable
from pathlib import Path

from tests.faults.life import Fault, Life, expect

Damage = Callable[[bytes], bytes]


def _flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :]


DAMAGES: dict[str, Damage] = {
    "cut off in the middle": lambda content: content[: len(content) // 2],
    "without its last byte": lambda content: content[:-1],
    "one bit flipped": _flip,
    "one bit of its checksum flipped": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "empty": lambda content: b"",
    "all zeros": lambda content: bytes(len(content)),
}


def damage(how: str, newest: int = 1) -> Fault:
    """Damage the newest checkpoints: the next start must warn and resume from the one before them."""

    def inject(life: Life) -> None:
        paths = sorted(life.checkpoints.glob("step-*.checkpoint"), reverse=True)
        expect(len(paths) > newest, f"there are only {len(paths)} checkpoints")
        for path in paths[:newest]:
            path.write_bytes(DAMAGES[how](path.read_bytes()))
            life.warnings.append(f"warning: {path} is damaged")
        life.promised = _step(paths[newest])

    which = "the newest" if newest == 1 else f"the newest {newest}"
    return Fault(kind="damaged checkpoint", what=f"{which}: {how}", inject=inject)


def _step(path: Path) -> int:
    return int(path.stem.removeprefix("step-"))
