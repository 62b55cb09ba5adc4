"""Run a job or a script on this machine, on the CPU."""

import contextlib
import errno
import fcntl
import os
import re
import shlex
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from training_workloads.jobs.volumes import RUNS_DIRECTORY
from training_workloads.recipes.scripts import TORCHRUN, chosen_launcher, is_script
from training_workloads.run_local import private_network
from training_workloads.run_local.job_environment import check_environment
from training_workloads.run_local.local_plan import LocalRun, plan_local_run, plan_script, write_hosts
from training_workloads.run_local.run_target import read_target
from training_workloads.run_local.supervisor import supervise
from training_workloads.run_local.torchrun_plan import plan_torchrun, plan_torchrun_script, runs_torchrun
from training_workloads.run_local.unsaved_training import unsaved_training
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem

__all__ = ["check_run", "default_environment", "only_run", "planned", "run_locally", "run_planned"]

_PRIVATE = "the ranks reach this machine alone; with '--open-network' they have its network"
_NOT_PRIVATE = "this system gives a run no private network: others reach servers of its ranks that trust every client"

# Those of `make setup-training` and of `make setup-torch`: TensorFlow and PyTorch need different releases of NumPy.
_ENVIRONMENT = Path(".venv-training")
_TORCH_ENVIRONMENT = Path(".venv-torch")

# mpirun does not run as root without both; root in a container is often the only user.
_ALLOW_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")

# Where Open MPI 5 and 4 keep the files of a run. Elsewhere these have names from mpirun's process number: one with the
# number of a killed one does not start, and two whose numbers share 16 bits of a hash write into each other's memory.
_OWN_FILES = ("TMPDIR", "OMPI_MCA_btl_sm_backing_directory", "OMPI_MCA_btl_vader_backing_directory")


def run_locally(
    target: str | Path,
    *,
    volumes: Path,
    environment: Path | None = None,
    ranks: int | None = None,
    arguments: Sequence[str] = (),
    launcher: str | None = None,
    open_network: bool = False,
) -> int:
    """Run a job or a script to its end, with each rank's number in front of its lines.

    Args:
        target: A manifest with one MPIJob or Job of torchrun, a folder with one, `-`, a recipe, or a Python script.
        volumes: Local folder in place of each mounted claim.
        environment: Virtual environment with the programs of the launcher and the ranks. Default: `.venv-training`, or
            `.venv-torch` for torchrun.
        ranks: Number of ranks. Default: that of the launcher's command; 2 for a script and for torchrun.
        arguments: Further ones of the program.
        launcher: `torchrun` or `mpirun`, for a script. Default: by its imports.
        open_network: Whether the ranks of a job, or of a script of torchrun, have this machine's network, as those of
            other scripts do. Default: loopback alone, because launcher and ranks listen on all addresses, and trust
            every client.

    Returns:
        The launcher's exit code, with torchrun that of the rank that ended first; 128 plus the number of the signal if
        a signal ended the launcher or this program.

    Raises:
        InputError: The target or an argument has a problem, or a program is missing.
    """
    with tempfile.TemporaryDirectory(prefix="mpi-") as folder:
        scratch = Path(folder)
        run, origin, note = planned(str(target), volumes.absolute(), scratch, ranks, arguments, launcher)
        run = replace(run, private=run.private and not open_network)
        write_hosts(scratch, run.ranks)
        return run_planned(run, scratch, volumes=volumes, environment=environment, origin=origin, note=note)


def run_planned(
    run: LocalRun, scratch: Path, *, volumes: Path, environment: Path | None, origin: str = "", note: str = ""
) -> int:
    """Run a plan to its end, and return its exit code.

    The caller removes the scratch folder. The origin of the job is for its first line; the note is on another target
    that the user may have meant.
    """
    variables = check_run(run, scratch, environment or default_environment(run.launcher))
    with only_run(run.name, volumes) if run.writes else contextlib.nullcontext():
        return _run(run, variables, scratch, volumes if run.writes else Path.cwd(), origin, note)


def check_run(run: LocalRun, scratch: Path, environment: Path) -> dict[str, str]:
    """Check that an environment has the programs and packages of a run, and return every variable of the run.

    Raises:
        InputError: It lacks one.
    """
    variables = _process_environment(environment, run, scratch)
    check_environment(run, environment, variables)
    return variables


def default_environment(launcher: str) -> Path:
    """Return the virtual environment, in the current folder, with the programs that a launcher starts."""
    return _TORCH_ENVIRONMENT if launcher == TORCHRUN else _ENVIRONMENT


@contextlib.contextmanager
def only_run(job: str, volumes: Path) -> Iterator[None]:
    """Hold the lock of a job while it runs here: two runs would write their checkpoints into one folder.

    The kernel releases it with this process, however that ends.
    """
    path = volumes / RUNS_DIRECTORY / f".{re.sub(r'[^A-Za-z0-9.-]', '_', job)}.lock"
    with _opened(path, volumes) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            process = os.pread(file, 20, 0).decode()
            allowed = f"this job runs already (process {process}), and both would write into {path.parent}"
            fix = "wait for its end, or give another folder with '--volumes'"
            raise InputError(Problem(path=("file",), given=job, allowed=allowed, fix=fix)) from error
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield


@contextlib.contextmanager
def _opened(path: Path, volumes: Path) -> Iterator[int]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        # A full disk is no mistake in a value.
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        allowed = f"{path.parent} cannot be written ({error.strerror})"
        fix = "give a folder that you may write to"
        if error.errno == errno.ELOOP:
            allowed, fix = f"{path} is a link, which can lead to any file", "remove it"
        raise InputError(Problem(path=("volumes",), given=str(volumes), allowed=allowed, fix=fix)) from error
    try:
        yield file
    finally:
        os.close(file)


def planned(
    target: str,
    volumes: Path,
    scratch: Path,
    ranks: int | None,
    arguments: Sequence[str],
    launcher: str | None = None,
) -> tuple[LocalRun, str, str]:
    """Return the run, where it is from, and what the user may have meant instead."""
    if is_script(target):
        plan_a_script = plan_torchrun_script if chosen_launcher(target, launcher) == TORCHRUN else plan_script
        return plan_a_script(target, arguments, scratch, ranks), "", ""
    if launcher is not None:
        allowed = f"{target} is no Python script, and the launcher of a job is in its command"
        raise InputError(Problem(path=("launcher",), given=launcher, allowed=allowed, fix="omit it"))
    found = read_target(target)
    plan = plan_torchrun if runs_torchrun(found.job) else plan_local_run
    return _with_arguments(plan(found.job, volumes, scratch, ranks), arguments), found.origin, found.note


def _with_arguments(run: LocalRun, arguments: Sequence[str]) -> LocalRun:
    """Return a run whose program has further arguments."""
    # A shell's text, or an unknown option of the launcher, hides where the program ends.
    if arguments and run.command[-1:] != run.program[-1:]:
        allowed = f"the program of {run.name} is not at the end of its command"
        fix = "omit it, and give the argument in the manifest"
        raise InputError(Problem(path=("argument",), given=arguments[0], allowed=allowed, fix=fix))
    return replace(run, command=(*run.command, *arguments), program=(*run.program, *arguments))


def _run(run: LocalRun, variables: dict[str, str], scratch: Path, folder: Path, origin: str, note: str) -> int:
    if note:
        say(f"note: {note}", error=True)
    say(f"running {run.title}{f' (from {origin})' * bool(origin)}")
    private = run.private and private_network.is_allowed()
    if run.private:
        say(f"run-local: {_PRIVATE if private else _NOT_PRIVATE}", error=True)
    began, started = time.time(), time.monotonic()
    ending = supervise(run.command, variables, name=run.launcher, hides_traceback=run.hides_traceback, private=private)
    if ending.failed:
        command = shlex.join(run.command)
        gone = f" ({scratch} is removed now)" * (str(scratch) in command)
        say(f"run-local: the command was {command}{gone}", error=True)
    if ending.reason:
        say(f"run-local: {ending.reason}", error=True)
    seconds = time.monotonic() - started
    if lost := unsaved_training(run.name, ending, folder, began=began, seconds=seconds):
        say(f"run-local: {lost}", error=True)
    return ending.code


def _process_environment(venv: Path, run: LocalRun, scratch: Path) -> dict[str, str]:
    programs = {"PATH": f"{venv.absolute() / 'bin'}:{os.environ.get('PATH', os.defpath)}"}
    libraries = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    # Without it Open MPI does not start, such as in a cron job.
    home = {"HOME": known if Path(known := os.path.expanduser("~")).is_dir() else tempfile.gettempdir()}
    root = dict.fromkeys(_ALLOW_ROOT, "1") if os.geteuid() == 0 else {}
    # MPI waits by spinning, and takes the cores of the ranks that it waits for.
    waiting = {"OMPI_MCA_mpi_yield_when_idle": "1"}
    # Where there is no ssh, Open MPI 5 ignores the slots of the hostfile and starts no more ranks than there are cores.
    agent = {"PRTE_MCA_plm_ssh_agent": "sh"}
    own = dict.fromkeys(_OWN_FILES, str(scratch)) if run.launcher == "mpirun" else {}
    # The launcher imports TensorFlow too, which then logs errors about GPUs; `training` has the same for the ranks.
    hidden = run.launcher == "horovodrun" and not Path("/proc/driver/nvidia").exists()
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"} if hidden else {}
    return {
        **home,
        **waiting,
        **agent,
        **quiet,
        **os.environ,
        **programs,
        **libraries,
        **root,
        **own,
        **run.environment,
    }
