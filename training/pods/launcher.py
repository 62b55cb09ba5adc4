"""Run a job's launch command: wait for the workers, check them, start the ranks, and restart them when some are lost.

python -m training.pods.launcher --restarts 10 --gpus 8 --efa 4 /etc/mpi/hostfile -- mpirun …

Ranks that failed start again here, in the same pod and the same log, which names training that they repeat. Exit code
2, the user's mistake, ends the job at once, as do workers that do not answer in time, a worker that the gate rejects,
and a network that is not the EFA that the job requested. The cause of its end is the last line of the log and the
container's termination message.

Kubernetes ends a launcher with SIGTERM, at which mpirun would kill the ranks after a second. This program sends mpirun
SIGUSR1 instead. mpirun forwards it to every rank; the ranks save a checkpoint and end, and then mpirun ends.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from training.pods import await_workers, first_process, gate, job_end, ranks_attempt, reachable_hosts
from training.pods.cost_cap import CostCap, WorkerCostFile
from training.pods.first_process import command_like
from training.pods.job_end import Decided, JobEnd
from training.pods.network_line import NetworkWatch
from training.pods.ranks_attempt import Attempt
from training.pods.repeated_training import Starts
from training.pods.requested import Requested
from training.runtime import mpirun_environment, options
from training.runtime.command_line import positive_number, whole_number
from training.runtime.errors import USER_ERROR, UserError
from training.runtime.options import option
from training.runtime.stop_request import STOPPED

# Programs that forward SIGUSR1 to their ranks. The signal would end another one, such as a check of mpirun's output.
_FORWARDS_SIGUSR1 = ("mpirun", "mpiexec")

# The pauses before restarts: 5 seconds, then twice as long each time up to this. Ten restarts wait 7 minutes in all.
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 60.0

# Ranks that were stopped on request before they have trained may stop again and again: this soon, it is a restart too.
_SOON_SECONDS = 60.0

# As the fields of an MPIJob.
_MOST = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Settings(Requested):
    """The command line, an option a field."""

    hostfile: Path = option(Path, "the operator's: a name at the start of each line", positional=True)
    port: int = option(whole_number(1, 65535), "of the workers' sshd", default=2222)
    timeout: int = option(whole_number(1, _MOST), "seconds for the workers to answer", default=1800)
    workers: int | None = option(
        whole_number(1), "how many are enough to start; default: all of the hostfile", default=None
    )
    restarts: int = option(whole_number(0, _MOST), "how often ranks that failed restart", default=0)
    max_cost: float | None = option(positive_number, "dollars that the run may cost, over all its starts", default=None)
    usd_per_hour: float = option(positive_number, "price of a worker, for '--max-cost'", default=0.0)
    gate: str = option(("yes", "no"), "check the workers before the ranks", default="yes")
    termination_log: Path = option(Path, "of the container", default=job_end.TERMINATION_LOG)
    command: tuple[str, ...] = option(command_like("mpirun"), "-- mpirun …", rest=True)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line; the words after '--' become `command`."""
    return options.parse(Settings, "training.pods.launcher", __doc__, arguments)


def cost_cap(settings: Settings) -> CostCap | None:
    """Return the cap of the job's cost; None where it has none."""
    if settings.max_cost is None:
        return None
    file = WorkerCostFile(settings.command, settings.port)
    hosts = partial(await_workers.read_hosts, settings.hostfile)
    return CostCap(settings.max_cost, settings.usd_per_hour, file, lambda: list(hosts()))


def run_ranks(settings: Settings, cap: CostCap | None, starts: Starts) -> Attempt:
    """Run the launch command to its end; forward its output, and stop requests to its ranks."""
    slots = await_workers.read_hosts(settings.hostfile)
    network = NetworkWatch(nodes=len(slots), ranks=sum(slots.values()), efa=settings.efa)
    # Workers that answered an earlier start may have been lost since.
    reachable_hosts.ANSWERED.unlink(missing_ok=True)
    name = Path(settings.command[0]).name
    forwarded = signal.SIGUSR1 if name in _FORWARDS_SIGUSR1 else signal.SIGTERM
    command = _with_hosts(settings.command, slots)
    if cap is None:
        return ranks_attempt.run(command, network, forwarded, starts=starts)
    return ranks_attempt.run(command, network, forwarded, limit=cap.limit, starts=starts)


def _with_hosts(command: tuple[str, ...], slots: Mapping[str, int]) -> tuple[str, ...]:
    """Return the launch command, by which mpirun's ranks get the hosts: without Horovod they find each other so."""
    if Path(command[0]).name not in _FORWARDS_SIGUSR1:
        return command
    os.environ[mpirun_environment.HOSTS] = mpirun_environment.hosts_value(slots)
    return (command[0], "-x", mpirun_environment.HOSTS, *command[1:])


def next_pause(settings: Settings, attempt: Attempt, restarts: int) -> float:
    """Return the seconds before the ranks restart, for the given number of restarts with this one.

    Raises:
        JobEnd: They do not restart.
    """
    if attempt.not_efa:
        fix = "use an image with the EFA plugin and nodes with EFA, or a job without EFA (efa_interfaces=0)"
        raise JobEnd(f"{attempt.not_efa}; {fix}")
    if attempt.code == USER_ERROR:
        raise JobEnd(f"{attempt}. A restart would repeat it: cancel the job, fix it, submit it again", USER_ERROR)
    if restarts > settings.restarts:
        often = f"; the ranks restarted {settings.restarts} times, as often as they may" * (settings.restarts > 0)
        raise JobEnd(f"{attempt}{often}", attempt.code)
    # Restarts without number would make a float overflow.
    return min(_FIRST_PAUSE_SECONDS * 2.0 ** min(restarts - 1, 10), _LONGEST_PAUSE_SECONDS)


def run_job(settings: Settings) -> int:
    """Start the ranks until they succeed or get a stop request, and return their exit code.

    Raises:
        JobEnd: The job has failed.
    """
    restarts, started, cap, starts = 0, False, cost_cap(settings), Starts()
    while True:
        hosts = await_workers.wait(
            settings.hostfile,
            settings.port,
            seconds=settings.timeout,
            workers=settings.workers,
            # An old decision on a worker that comes late must not end a job that runs again.
            when_answered=None if started else partial(job_end.recall, port=settings.port),
            meanwhile=cap.check if cap else lambda: None,
        )
        started = True
        if cap:
            cap.begin(hosts)
        if settings.gate == "yes":
            gate.check(hosts, settings.port, settings)
        attempt = run_ranks(settings, cap, starts)
        if attempt.stopped or (attempt.code == 0 and not attempt.not_efa):
            return attempt.code
        if cap and cap.is_reached:
            raise cap.end(str(attempt))
        if attempt.code == STOPPED and attempt.seconds > _SOON_SECONDS:
            print("the ranks were stopped on request and have saved their state: they start again", flush=True)
            continue
        restarts += 1
        pause = next_pause(settings, attempt, restarts)
        print(f"restart {restarts} of {settings.restarts} in {pause:g} s: {attempt}", flush=True)
        time.sleep(pause)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    # The kernel drops a signal that a container's first process does not handle.
    for number in first_process.STOP_SIGNALS:
        signal.signal(number, lambda received, _: os._exit(first_process.SIGNAL_CODES + received))
    try:
        settings = parse(arguments)
    except UserError as error:
        job_end.show(str(error), job_end.TERMINATION_LOG)
        return USER_ERROR
    try:
        return run_job(settings)
    except UserError as error:
        job_end.show(str(error), settings.termination_log)
        return USER_ERROR
    except JobEnd as end:
        job_end.show(str(end), settings.termination_log)
        if not isinstance(end, Decided):
            # Without a hostfile no worker can keep it; the code that is decided stays.
            with suppress(UserError):
                job_end.keep(end, await_workers.answering(settings.hostfile, settings.port), settings.port)
        return end.code


if __name__ == "__main__":
    sys.exit(main())
