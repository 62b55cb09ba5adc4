"""One start of the ranks by their launch command: its output is forwarded, and stop requests reach the ranks."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from training.pods.first_process import Child
from training.pods.network_line import NetworkWatch
from training.pods.ranks_output import RanksOutput
from training.pods.repeated_training import Starts

# Ranks that do not end at SIGTERM.
_KILL_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One start of the ranks, and how it ended.

    Attributes:
        code: Exit code of the launch command; that of the first rank that failed, where the command prints it.
        stopped: Whether this process got a stop request.
        not_efa: The line about the network, if it is not the EFA that the job requested.
        message: The last error that a rank printed.
        seconds: How long it ran.
    """

    code: int
    stopped: bool
    not_efa: str | None
    message: str
    seconds: float

    def __str__(self) -> str:
        return f"the ranks ended with exit code {self.code}{f': {self.message}' if self.message else ''}"


def run(
    command: Sequence[str],
    network: NetworkWatch,
    forwarded: signal.Signals,
    watch: Callable[[Callable[[], None]], None] = lambda end_ranks: None,
    limit: Callable[[Callable[[], None], Callable[[], None]], AbstractContextManager[None]] = lambda *_: nullcontext(),
    starts: Starts | None = None,
) -> Attempt:
    """Run the launch command to its end; forward its output, and stop requests to its ranks.

    Args:
        command: It starts the ranks.
        network: Reads their output.
        forwarded: Signal that the command gets for a stop request.
        watch: Called when the command runs, with a function that ends it. That is to be called until it has ended:
            first it sends SIGTERM, later SIGKILL.
        limit: Entered while the command runs, with a function that sends its ranks a stop request, and with the one
            that ends it.
        starts: The starts before. Default: none.
    """
    started, starts = time.monotonic(), starts or Starts()
    starts.begin()
    asked: list[float] = []

    def end_ranks() -> None:
        asked.append(time.monotonic())
        if len(asked) == 1:
            program.send(signal.SIGTERM)
        elif asked[-1] - asked[0] > _KILL_SECONDS:
            program.send(signal.SIGKILL)

    output = RanksOutput(starts, network, end_ranks)
    program = Child(command, output.ends)
    output.start()
    watch(end_ranks)
    stopped = False

    def stop_ranks() -> None:
        print(f"stop request: sends {forwarded.name} to {command[0]} and waits for its ranks", flush=True)
        program.send(forwarded)

    with limit(stop_ranks, end_ranks):
        while program.wait_for_stop_request():
            stopped = True
            stop_ranks()
    output.finish()
    code = program.code or 0
    if not stopped:
        program.unblock_signals()
    return Attempt(
        code=(output.code_of_a_rank or code) if code == 1 else code,
        stopped=stopped,
        not_efa=network.line if network.not_efa else None,
        message=output.message,
        seconds=time.monotonic() - started,
    )
