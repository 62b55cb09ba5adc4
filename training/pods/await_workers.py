"""Wait until the sshd of every worker answers, for a bounded time.

The operator waits for the workers too, but not in two cases: it creates the launcher of a resumed job before the
workers, and mpirun fails (https://github.com/kubeflow/mpi-operator/issues/615); and it does not wait for a launcher
that restarts.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from training.pods import first_process
from training.pods.job_end import JobEnd, listed
from training.pods.reachable_hosts import no_answer
from training.pods.reminder import Reminder
from training.runtime.errors import UserError

_PAUSE_SECONDS = 2.0
_MOST_THREADS = 64


def read_hosts(hostfile: Path) -> dict[str, int]:
    """Return the slots of each name in a hostfile; 1 where the line has no number.

    Raises:
        UserError: The file cannot be read, or has no name.
    """
    try:
        lines = hostfile.read_text().splitlines()
    except OSError as error:
        raise UserError(f"{hostfile} cannot be read: {error.strerror}; give the operator's hostfile") from error
    found = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    if not found:
        raise UserError(f"{hostfile} names no worker; give the operator's hostfile")
    return {words[0].partition(":")[0]: _slots(words[1:]) for words in found}


def _slots(words: Sequence[str]) -> int:
    given = [word.removeprefix("slots=") for word in words if word.startswith("slots=")]
    return int(given[0]) if given and given[0].isdigit() else 1


def wait(
    hostfile: Path,
    port: int,
    *,
    seconds: float,
    workers: int | None,
    when_answered: Callable[[Sequence[str]], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> list[str]:
    """Return the workers that answer, as soon as they are enough.

    Args:
        hostfile: It may change meanwhile, when an elastic job is scaled.
        port: Port of the workers' sshd.
        seconds: The time that they have.
        workers: How many are enough; None for all.
        when_answered: Called with the workers that answer for the first time.
        meanwhile: Called again and again; it may raise the end of the job.

    Raises:
        JobEnd: The time is over.
        UserError: The hostfile is not one.
    """
    deadline, reminder, answered = time.monotonic() + seconds, Reminder(), list[str]()
    while True:
        meanwhile()
        hosts = list(read_hosts(hostfile))
        missing = _missing([host for host in hosts if host not in answered], port)
        before, answered = answered, [host for host in hosts if host not in missing]
        new = [host for host in answered if host not in before]
        if when_answered and new:
            when_answered(new)
        if len(answered) >= min(workers or len(hosts), len(hosts)):
            return answered
        if time.monotonic() > deadline:
            raise JobEnd(_too_late(missing, len(hosts), seconds))
        if reminder.is_due(len(missing)):
            first, reason = next(iter(missing.items()))
            print(f"waiting for {len(missing)} of {len(hosts)} workers, such as {first}: {reason}", flush=True)
        time.sleep(_PAUSE_SECONDS)


def answering(hostfile: Path, port: int) -> list[str]:
    """Return the workers that answer now."""
    hosts = list(read_hosts(hostfile))
    missing = _missing(hosts, port)
    return [host for host in hosts if host not in missing]


def _missing(hosts: Sequence[str], port: int) -> dict[str, str]:
    """Return the hosts that do not answer, with the reason of each."""
    with ThreadPoolExecutor(max_workers=max(1, min(len(hosts), _MOST_THREADS))) as pool:
        with first_process.signals_blocked():
            answers = pool.map(lambda host: no_answer(host, port), hosts)
        return {host: reason for host, reason in zip(hosts, answers, strict=True) if reason}


def _too_late(missing: dict[str, str], workers: int, seconds: float) -> str:
    return (
        f"{len(missing)} of {workers} workers did not answer within {seconds:g} s: {listed(missing)}. Check with "
        "'trainctl status' and 'kubectl describe pod' whether they have a node, an image and a running sshd; "
        "start_timeout_seconds of the job changes the limit"
    )
