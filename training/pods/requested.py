"""The requests of a job for each of its workers, as options of the programs that check them."""

from dataclasses import dataclass
from pathlib import Path

from training.runtime.command_line import whole_number
from training.runtime.options import option


# Without slots: programs add their own options.
@dataclass(frozen=True, kw_only=True)
class Requested:
    """The requests of one worker; a value of 0 or an empty one is not checked."""

    gpus: int = option(whole_number(0), "GPUs of a worker", default=0)
    efa: int = option(whole_number(0), "EFA devices of a worker", default=0)
    hugepages_mib: int = option(whole_number(0), "memory in huge pages of a worker", default=0, metavar="MIB")
    shm_mib: int = option(whole_number(0), "size of a worker's /dev/shm", default=0, metavar="MIB")
    mount: tuple[Path, ...] = option(Path, "a shared file system; may be repeated", default=(), repeated=True)

    def words(self) -> list[str]:
        """Return the options of a command line."""
        numbers = [("--gpus", self.gpus), ("--efa", self.efa)]
        numbers += [("--hugepages-mib", self.hugepages_mib), ("--shm-mib", self.shm_mib)]
        mounts = [word for mount in self.mount for word in ("--mount", str(mount))]
        return [*(word for option, number in numbers if number for word in (option, str(number))), *mounts]
