"""Run a training job on SageMaker: the entry point of the image, which starts on every host.

python -m training.pods.sagemaker --processes-per-host 8 -- python -m training.resnet50 --output-dir /opt/ml/checkpoints

SageMaker starts one container per host, at about the same time, and says in each which hosts there are. There is no
launcher and no ssh: each host starts its own ranks. Host names in their order decide about the ranks' numbers, and
the first host serves Horovod's rendezvous; all of them end with one exit code (`host_reports`). A command that begins
with `torchrun` gets the options by which its agents meet at the first host.

- The hyperparameters of the job become options of the program.
- SIGTERM, 120 seconds before SIGKILL (https://docs.aws.amazon.com/sagemaker/latest/dg/
  your-algorithms-training-algo-dockerfile.html, read 2026-11-23), reaches every rank, which saves a checkpoint.
- A program whose '--output-dir' is below /opt/ml/checkpoints resumes exactly after a Spot interruption: SageMaker
  restores that folder before it starts the containers again. Its results are in /opt/ml/output/data at the end too.
- The reason of a failure is the last line of the log, on every host, and SageMaker's `FailureReason`. Ranks that end on
  request have none.
"""

import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from training.pods import first_process, host_ranks, ranks_attempt
from training.pods.first_process import command_like
from training.pods.host_reports import KEY, PORT, Decision, Host
from training.pods.network_line import NetworkWatch
from training.pods.sagemaker_folders import ROOT, Folders, Hosts
from training.pods.worker import adopt_orphans
from training.runtime import mpirun_environment, options
from training.runtime.command_line import whole_number
from training.runtime.errors import USER_ERROR, UserError
from training.runtime.options import option
from training.runtime.stop_request import STOPPED

_TORCHRUN = "torchrun"

_RENDEZVOUS_PORT = PORT + 1
_STORE_PORT = PORT + 2

# The first rank waits in Gloo for the last one, which imports TensorFlow first; Horovod's own limit is 30 seconds. A
# rank that is lost without a word ends the others after this time too.
_GLOO_SECONDS = 180

# A killed process ends at once, unless it waits for a disk or a network file system.
_KILL_SECONDS = 10.0

_JOB_NAME = "TRAINING_JOB_NAME"

_TAKEN = (
    f"another program has one of its ports {PORT} to {_STORE_PORT}; end it, such as a second run on this machine, and "
    "start again"
)

_TERMINATED = first_process.SIGNAL_CODES + signal.SIGTERM


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field; the same on every host."""

    processes_per_host: int = option(whole_number(1), "ranks of each host: one per GPU")
    timeout: int = option(whole_number(1), "seconds for every host to report", default=600)
    root: Path = option(Path, "SageMaker's folder, or another for a run without SageMaker", default=ROOT)
    command: tuple[str, ...] = option(command_like("python"), "-- python -m … or -- torchrun …", rest=True)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line; the words after '--' become `command`."""
    return options.parse(Settings, "training.pods.sagemaker", __doc__, arguments)


def launch_command(settings: Settings, hosts: Hosts, program: Sequence[str]) -> list[str]:
    """Return the command that starts the ranks of this host."""
    if not _is_torchrun(program):
        return host_ranks.Settings(
            host=hosts.number, hosts=hosts.names, processes=settings.processes_per_host, command=tuple(program)
        ).words()
    first = hosts.names[0]
    return [
        program[0],
        f"--nnodes={len(hosts.names)}",
        f"--node-rank={hosts.number}",
        f"--nproc-per-node={settings.processes_per_host}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={first}:{_STORE_PORT}",
        # Not torch's guess by the host's name and addresses, which a container may have several of.
        f"--rdzv-conf=is_host={str(hosts.name == first).lower()}",
        f"--rdzv-id={os.environ.get(_JOB_NAME, 'job')}",
        f"--local-addr={hosts.name}",
        *program[1:],
    ]


def rank_variables(hosts: Hosts) -> dict[str, str]:
    """Return the variables that every rank of this host gets, besides those with its number.

    Those of Horovod: `create_run_env_vars` in
    https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/gloo_run.py (read 2026-11-23). Only its own messages
    and tensors on CPUs go over Gloo; those on GPUs go over NCCL, as compiled.
    """
    chosen = {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        # Its own name is the only one that the first host has not needed so far.
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1" if hosts.number == 0 else socket.gethostbyname(hosts.names[0]),
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(_RENDEZVOUS_PORT),
        "HOROVOD_GLOO_IFACE": hosts.interface,
    }
    defaults = {
        "HOROVOD_GLOO_TIMEOUT_SECONDS": str(_GLOO_SECONDS),
        "NCCL_SOCKET_IFNAME": hosts.interface,
        "GLOO_SOCKET_IFNAME": hosts.interface,
    }
    return chosen | {name: value for name, value in defaults.items() if name not in os.environ}


def serve_rendezvous(hosts: Hosts, processes: int) -> None:
    """Serve Horovod's rendezvous until this process ends, at a port that every host knows.

    Horovod's `RendezvousServer` takes a free port, which the other hosts could not know.
    """
    # Here: an image for PyTorch has no Horovod. This part of it imports no TensorFlow.
    try:
        from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
        from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer
    except ImportError as error:
        raise UserError(f"the image has no Horovod ({error}); give its image, or a command with 'torchrun'") from error
    server = RendezvousHTTPServer(("", _RENDEZVOUS_PORT), RendezvousHandler, verbose=0)
    server.daemon_threads = True
    slots = ",".join(f"{name}:{processes}" for name in hosts.names)
    server.init(get_host_assignments(parse_hosts(slots), len(hosts.names) * processes))
    with first_process.signals_blocked():
        threading.Thread(target=server.serve_forever, name="rendezvous", daemon=True).start()


def report_key(hosts: Hosts) -> str:
    """Return the key with which the hosts sign their reports; empty where one host has none.

    Raises:
        UserError: Several hosts have no key.
    """
    key = os.environ.get(KEY, "")
    if not key and len(hosts.names) > 1:
        raise UserError(
            f"{KEY} is missing, but {len(hosts.names)} hosts sign their reports with it; set it in the job's "
            "environment to a random text, as 'trainctl sagemaker submit' does"
        )
    return key


def run_job(settings: Settings, folders: Folders) -> Decision:
    """Run the ranks of this host, as soon as every host is there, and return the end of the job."""
    program = [*settings.command, *folders.hyperparameters()]
    hosts = folders.hosts()
    host = Host(hosts.name, hosts.names, settings.timeout, report_key(hosts))
    with host.serve():
        if problem := folders.unwritable(program):
            return host.finish(USER_ERROR, problem)
        if host.name == host.first and not _is_torchrun(program):
            try:
                serve_rendezvous(hosts, settings.processes_per_host)
            except UserError as error:
                return host.finish(USER_ERROR, str(error))
        if not host.wait_for_start():
            return host.finish()
        ranks = settings.processes_per_host
        os.environ.update(rank_variables(hosts))
        # For ranks that TensorFlow connects, without Horovod.
        os.environ[mpirun_environment.HOSTS] = mpirun_environment.hosts_value(dict.fromkeys(hosts.names, ranks))
        network = NetworkWatch(nodes=len(hosts.names), ranks=ranks, efa=0)
        print(f"{hosts.name}: starts {ranks} of {ranks * len(hosts.names)} ranks", flush=True)
        attempt = ranks_attempt.run(launch_command(settings, hosts, program), network, signal.SIGTERM, host.watch)
        end_processes()
        code = attempt.code
        # Ranks that import their packages do not handle the signal yet; torchrun ends with 1, whatever its ranks do.
        if attempt.stopped and (code == _TERMINATED or (code == 1 and _is_torchrun(program))):
            code = STOPPED
        return host.finish(code, str(attempt) if code else "")


def end_processes() -> None:
    """End the processes that the ranks have left."""
    left = psutil.Process().children(recursive=True)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=_KILL_SECONDS)


def _is_torchrun(program: Sequence[str]) -> bool:
    return Path(program[0]).name == _TORCHRUN


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code, which is the same on every host."""
    # The kernel drops a signal that a container's first process does not handle.
    for number in first_process.STOP_SIGNALS:
        signal.signal(number, lambda received, _: os._exit(first_process.SIGNAL_CODES + received))
    adopt_orphans()
    folders = Folders(ROOT)
    try:
        settings = parse(arguments)
        folders = Folders(settings.root)
        end = run_job(settings, folders)
    except UserError as error:
        end = Decision(code=USER_ERROR, reason=str(error))
    except OSError as error:
        # Such as a port that is taken, or no memory for a process.
        why = _TAKEN if error.errno == errno.EADDRINUSE else error
        end = Decision(code=1, reason=f"this host cannot run its ranks: {why}")
    if end.code == STOPPED:
        print(f"the ranks have ended on request, with exit code {STOPPED}", flush=True)
    elif end.code:
        folders.fail(end.reason)
    with suppress(UserError):
        hosts = folders.hosts()
        # Rank zero, on the first host, has written the results; SageMaker copies the files of all hosts to one folder.
        if hosts.number == 0:
            folders.hand_over()
    return end.code or 0


if __name__ == "__main__":
    sys.exit(main())
