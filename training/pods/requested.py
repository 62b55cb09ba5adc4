"""The requests of a job for each of its workers, as options of the programs that check them."""

import argparse
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from training.runtime import command_line


@dataclass(frozen=True, kw_only=True, slots=True)
class Requested:
    """The requests of one worker; a value of 0 or an empty one is not checked."""

    gpus: int = 0
    efa: int = 0
    """EFA devices."""
    hugepages_mib: int = 0
    shm_mib: int = 0
    """Size of /dev/shm."""
    mount: tuple[Path, ...] = ()
    """Where the shared file systems are mounted."""

    @staticmethod
    def add_options(parser: argparse.ArgumentParser) -> None:
        """Add an option for each request."""
        add, number = parser.add_argument, command_line.whole_number(0)
        add("--gpus", type=number, default=0, help="GPUs of a worker")
        add("--efa", type=number, default=0, help="EFA devices of a worker")
        add("--hugepages-mib", type=number, default=0, metavar="MIB", help="memory in huge pages of a worker")
        add("--shm-mib", type=number, default=0, metavar="MIB", help="size of a worker's /dev/shm")
        add("--mount", type=Path, action="append", default=[], help="a shared file system; may be repeated")

    @classmethod
    def take(cls, given: dict[str, Any]) -> Self:
        """Return the requests, and remove them from the parsed options."""
        taken = {field.name: given.pop(field.name) for field in fields(cls)}
        return cls(**taken | {"mount": tuple(taken["mount"])})

    def words(self) -> list[str]:
        """Return the options of a command line."""
        numbers = [("--gpus", self.gpus), ("--efa", self.efa)]
        numbers += [("--hugepages-mib", self.hugepages_mib), ("--shm-mib", self.shm_mib)]
        mounts = [word for mount in self.mount for word in ("--mount", str(mount))]
        return [*(word for option, number in numbers if number for word in (option, str(number))), *mounts]
