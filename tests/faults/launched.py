"""One start of the program with all its processes: tests watch and disturb it, and every wait has a limit."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from tests.faults.processes import MARK, forked_ranks, kill, marked, rank_of

# For any wait: a start takes 7 s on two idle cores, and the machine may be busy.
DEADLINE_SECONDS = 600.0

_STEP = re.compile(r"epoch \d+/\d+, step (\d+): loss ([^\s,]+)[ ,].*\n")
# In the report of torchrun, whose own code is 1: last that of the rank that failed first.
_RANK_CODE = re.compile(r"exitcode +: (-?\d+) \(pid")
_RESUMED = re.compile(r"resuming after step (\d+), .*\n")


class Lost(Exception):
    """Something was lost in a fault."""


class Hung(Exception):
    """Something did not happen in time."""


class Launched:
    """A launcher and its ranks."""

    def __init__(self, command: Sequence[str], folder: Path, program: Path, variables: Mapping[str, str]) -> None:
        """Start them in the folder of the program, with their output in files of a new folder."""
        folder.mkdir(parents=True)
        self._folder = folder
        environment = os.environ | ENVIRONMENT | {MARK: str(folder)} | dict(variables)
        # Python must not compile TensorFlow's modules at each start, which takes longer than everything else.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
            self._launcher = subprocess.Popen(
                command,
                cwd=program,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                # Ctrl-C is for the program that waits here, which then ends the ranks.
                start_new_session=True,
            )

    # ------------------------------------------------------------------------------------------------- output

    @property
    def stdout(self) -> str:
        return (self._folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self._folder / "stderr").read_text()

    @property
    def losses(self) -> dict[int, str]:
        """The printed loss of each step."""
        return {int(step): loss for step, loss in _STEP.findall(self.stdout)}

    @property
    def resumed_at(self) -> int | None:
        """The step after which it resumed; 0 where it began, None where it ended before."""
        if found := _RESUMED.search(self.stdout):
            return int(found[1])
        return 0 if self.losses else None

    @property
    def resumptions(self) -> list[int]:
        """The steps after which it resumed, where its launcher started the ranks again."""
        return [int(step) for step in _RESUMED.findall(self.stdout)]

    def wait_for_step(self, step: int) -> None:
        """Return as soon as this step or a later one is in the log."""
        self.wait_until(lambda: max(self.losses, default=0) >= step, f"step {step}")

    def wait_for(self, text: str, times: int = 1) -> None:
        """Return as soon as the log holds a text this number of times."""
        self.wait_until(lambda: (self.stdout + self.stderr).count(text) >= times, repr(text))

    def wait_until(self, reached: Callable[[], object], what: str, pause: float = 0.03) -> None:
        """Return as soon as something is so; the run must not end before."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not reached():
            # The last output may have arrived in the meantime.
            if self._launcher.poll() is not None and not reached():
                raise Lost(f"the run ended with code {self._launcher.returncode} before {what}")
            if time.monotonic() > deadline:
                raise Hung(f"{what} did not come in {DEADLINE_SECONDS:.0f} s")
            time.sleep(pause)

    # --------------------------------------------------------------------------------------------------- processes

    @property
    def launcher(self) -> psutil.Process:
        return psutil.Process(self._launcher.pid)

    def rank(self, rank: int) -> psutil.Process:
        """Return the process of a rank, as soon as it exists: the first with its number, which may fork others."""
        found: list[psutil.Process] = []

        def find() -> bool:
            found[:] = forked_ranks(self._folder, rank) or [
                process for process, variables in marked(self._folder) if rank_of(process, variables) == str(rank)
            ]
            return bool(found)

        self.wait_until(find, f"the process of rank {rank}", pause=0.05)
        return min(found, key=lambda process: float(process.create_time()))

    def _family(self) -> list[psutil.Process]:
        """Return all living processes."""
        return forked_ranks(self._folder) or [process for process, _ in marked(self._folder)]

    def end(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Wait until all its processes have ended, and return the launcher's exit code, or that of the first lost rank.

        Raises:
            Hung: A process is alive after these seconds.
        """
        deadline = time.monotonic() + seconds
        while self._launcher.poll() is None or self._family():
            if time.monotonic() > deadline:
                alive = ", ".join(f"{process.pid} {process.name()}" for process in self._family())
                raise Hung(f"still alive {seconds:.0f} s after the fault: {alive}")
            time.sleep(0.05)
        codes = _RANK_CODE.findall(self.stderr)
        return int(codes[-1]) if codes else self._launcher.returncode

    @staticmethod
    def first_to_end(runs: "Sequence[Launched]") -> "Launched":
        """Return the run whose launcher ends first."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            for run in runs:
                if run._launcher.poll() is not None:
                    return run
            time.sleep(0.05)
        raise Hung(f"none of {len(runs)} runs ended in {DEADLINE_SECONDS:.0f} s")

    def kill(self) -> None:
        """Kill all living processes."""
        while family := self._family():
            kill(family)
        self._launcher.wait()


#: Variables of every process. Horovod asks the ranks each 5 ms, instead of each 1 ms, whether they have data to send.
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "HOROVOD_CYCLE_TIME": "5"}
