"""Start the ranks of one host, which find those of the other hosts by Horovod's rendezvous: no ssh, no MPI.

python -m training.pods.host_ranks --host 1 --hosts algo-1,algo-2 --processes 8 -- python -m training.resnet50 …

Every host starts its own ranks by this program, with the variables that `horovodrun` would set
(`create_slot_env_vars` in https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/gloo_run.py, read 2026-11-23).
The variables that are the same for all ranks, such as the rendezvous' address, are in the environment already.

Each line of a rank gets the tag of `mpirun`, which `trainctl` and the launcher read. When a rank fails, the others end,
and the exit code is that of the first that failed. A stop request reaches every rank.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from training.pods import first_process
from training.pods.first_process import command_like
from training.runtime import command_line, options, parent_death
from training.runtime.command_line import whole_number
from training.runtime.errors import UserError
from training.runtime.options import option

_PART = 65536
_PAUSE_SECONDS = 0.2

# The time of the ranks to end after SIGTERM, before they are killed. This program itself gets more.
_KILL_SECONDS = 10.0

# Processes that a rank started may keep its pipe open after its end.
_DRAIN_SECONDS = 5.0


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    host: int = option(whole_number(0), "number of this host, from 0")
    hosts: tuple[str, ...] = option(_names, "names of all hosts with a comma between, in the order of their ranks")
    processes: int = option(whole_number(1), "ranks of each host")
    command: tuple[str, ...] = option(command_like("python"), "-- python -m …", rest=True)

    def __post_init__(self) -> None:
        """Reject a number that no host has."""
        if self.host >= len(self.hosts):
            raise UserError(
                f"'--host' is {self.host}, but '--hosts' has {len(self.hosts)}; give {len(self.hosts) - 1} or less"
            )

    def words(self) -> list[str]:
        """Return the command line with these settings."""
        numbers = ["--host", str(self.host), "--hosts", ",".join(self.hosts), "--processes", str(self.processes)]
        return [sys.executable, "-m", "training.pods.host_ranks", *numbers, "--", *self.command]

    def rank_variables(self, local_rank: int) -> dict[str, str]:
        """Return the variables of one rank of this host."""
        numbers = {
            "RANK": self.host * self.processes + local_rank,
            "SIZE": len(self.hosts) * self.processes,
            "LOCAL_RANK": local_rank,
            "LOCAL_SIZE": self.processes,
            # Among the ranks with the same number on their hosts.
            "CROSS_RANK": self.host,
            "CROSS_SIZE": len(self.hosts),
        }
        variables = {f"HOROVOD_{name}": str(number) for name, number in numbers.items()}
        # Each line at once, as where mpirun's ranks have a terminal.
        return variables | {"HOROVOD_HOSTNAME": self.hosts[self.host], "PYTHONUNBUFFERED": "1"}


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line; the words after '--' become `command`."""
    return options.parse(Settings, "training.pods.host_ranks", __doc__, arguments)


@dataclass(slots=True)
class _Stream:
    """A stream of one rank."""

    tag: bytes
    target: int
    rest: bytes = b""
    """A line whose end has not come yet."""

    def write(self, part: bytes) -> None:
        """Write the lines that a part completes, or the rest if there is no more."""
        whole, end, self.rest = (self.rest + part).rpartition(b"\n") if part else (self.rest, b"\n", b"")
        if len(self.rest) > _PART:
            whole, end, self.rest = whole + end + self.rest, b"\n", b""
        if whole or (part and end):
            lines = b"".join(self.tag + line + b"\n" for line in whole.split(b"\n"))
            while lines:
                lines = lines[os.write(self.target, lines) :]


@dataclass(slots=True)
class HostRanks:
    """The ranks of this host, while they run.

    Attributes:
        code: Exit code of the first rank that failed; 0 if none has.
    """

    settings: Settings
    code: int = field(default=0, init=False)
    _ranks: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector, init=False)
    _failed_at: float | None = field(default=None, init=False)
    _signal: int | None = field(default=None, init=False)

    def start(self) -> None:
        """Start every rank."""
        first = self.settings.host * self.settings.processes
        for local_rank in range(self.settings.processes):
            rank = subprocess.Popen(
                self.settings.command,
                env=os.environ | self.settings.rank_variables(local_rank),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=_end_with_parent,
            )
            self._ranks.append(rank)
            if self._signal is not None:
                rank.send_signal(self._signal)
            for name, pipe, target in (("stdout", rank.stdout, 1), ("stderr", rank.stderr, 2)):
                assert pipe is not None
                tag = f"[1,{first + local_rank}]<{name}>:".encode()
                self._selector.register(pipe, selectors.EVENT_READ, _Stream(tag, target))

    def send(self, number: int) -> None:
        """Send every rank a signal, also those that start meanwhile."""
        self._signal = number
        for rank in self._ranks:
            # Not to one whose exit status is taken: another process may have its number.
            rank.send_signal(number)

    def wait(self) -> None:
        """Return when every rank has ended; when one fails, end the others."""
        while running := [rank for rank in self._ranks if rank.poll() is None]:
            self._forward(_PAUSE_SECONDS)
            self._look_for_failures()
            if self._failed_at is not None and time.monotonic() - self._failed_at > _KILL_SECONDS:
                for rank in running:
                    rank.kill()
        self._look_for_failures()
        deadline = time.monotonic() + _DRAIN_SECONDS
        while self._selector.get_map() and time.monotonic() < deadline:
            self._forward(_PAUSE_SECONDS)

    def _look_for_failures(self) -> None:
        failed = [rank.returncode for rank in self._ranks if rank.poll()]
        if failed and self._failed_at is None:
            self._failed_at = time.monotonic()
            self.code = failed[0] if failed[0] > 0 else first_process.SIGNAL_CODES - failed[0]
            self.send(signal.SIGTERM)

    def _forward(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
            stream: _Stream = key.data
            part = os.read(pipe.fileno(), _PART)
            stream.write(part)
            if not part:
                self._selector.unregister(pipe)
                pipe.close()


def _end_with_parent() -> None:
    """Let the kernel end this process when its parent is killed, which could not end it itself."""
    parent_death.send_when_the_parent_ends(signal.SIGKILL)


def run(settings: Settings) -> int:
    """Run the ranks of this host and return the exit code of the first that failed."""
    ranks = HostRanks(settings)
    for number in first_process.STOP_SIGNALS:
        signal.signal(number, lambda received, _: ranks.send(received))
    try:
        ranks.start()
    except OSError as error:
        raise UserError(f"{settings.command[0]!r} cannot be run: {error.strerror}; give a program") from error
    ranks.wait()
    return ranks.code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return command_line.exit_code(lambda: run(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
