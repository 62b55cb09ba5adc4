"""One start of the program with all its processes: tests watch and disturb it, and every wait has a limit."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.training.mpirun import ALLOW_ROOT, ROOT

# For any wait: a start takes 7 s on two idle cores, and the machine may be busy.
DEADLINE_SECONDS = 600.0

# In the environment of every process, also of orphans.
_MARK = "FAULTS_START"

_STEP = re.compile(r"epoch \d+/\d+, step (\d+): loss (\S+), .*\n")
_RESUMED = re.compile(r"resuming after step (\d+), .*\n")


class Lost(Exception):
    """Something was lost in a fault."""


class Hung(Exception):
    """Something did not happen in time."""


class Launched:
    """A launcher and its ranks."""

    def __init__(self, command: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None) -> None:
        """Start them, with their output in files of a new folder."""
        folder.mkdir(parents=True)
        self._folder = folder
        environment = os.environ | _ENVIRONMENT | {_MARK: str(folder)} | dict(variables or {})
        # Python must not compile TensorFlow's modules at each start, which takes longer than everything else.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
            self._launcher = subprocess.Popen(
                command,
                cwd=ROOT,
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

    def wait_for_step(self, step: int) -> None:
        """Return as soon as this step or a later one is in the log."""
        self._wait(lambda: max(self.losses, default=0) >= step, f"step {step}")

    def wait_for(self, text: str, times: int = 1) -> None:
        """Return as soon as the log holds a text this number of times."""
        self._wait(lambda: (self.stdout + self.stderr).count(text) >= times, repr(text))

    def _wait(self, reached: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not reached():
            # The last output may have arrived in the meantime.
            if self._launcher.poll() is not None and not reached():
                raise Lost(f"the run ended with code {self._launcher.returncode} before {what}")
            if time.monotonic() > deadline:
                raise Hung(f"{what} did not come in {DEADLINE_SECONDS:.0f} s")
            time.sleep(0.01)

    # --------------------------------------------------------------------------------------------------- processes

    @property
    def launcher(self) -> psutil.Process:
        return psutil.Process(self._launcher.pid)

    def rank(self, rank: int) -> psutil.Process:
        """Return the process of a rank, as soon as it exists."""
        found: list[psutil.Process] = []

        def find() -> bool:
            found[:] = self._ranks(rank)
            return bool(found)

        self._wait(find, f"the process of rank {rank}")
        return found[0]

    def _ranks(self, rank: int) -> list[psutil.Process]:
        names = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK")
        return [process for process, variables in self._family() if str(rank) in map(variables.get, names)]

    def _family(self) -> list[tuple[psutil.Process, dict[str, str]]]:
        """Return all living processes, with their environment."""
        family = []
        for process in psutil.process_iter():
            # Ended by now, or a zombie.
            with suppress(psutil.Error):
                variables = process.environ()
                if variables.get(_MARK) == str(self._folder):
                    family.append((process, variables))
        return family

    def end(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Wait until all its processes have ended, and return the launcher's exit code.

        Raises:
            Hung: A process is alive after these seconds.
        """
        deadline = time.monotonic() + seconds
        while self._launcher.poll() is None or self._family():
            if time.monotonic() > deadline:
                alive = ", ".join(f"{process.pid} {process.name()}" for process, _ in self._family())
                raise Hung(f"still alive {seconds:.0f} s after the fault: {alive}")
            time.sleep(0.05)
        return self._launcher.returncode

    def kill(self) -> None:
        """Kill all living processes."""
        while family := self._family():
            for process, _ in family:
                with suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs([process for process, _ in family], timeout=1)
        self._launcher.wait()


_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", **ALLOW_ROOT}
