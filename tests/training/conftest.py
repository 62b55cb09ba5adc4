"""Runs of several ranks, made once and shared by the tests; and an S3 to stage data from."""

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.training.s3_server import S3Server

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class Run:
    """What a finished or killed run left behind."""

    code: int
    stdout: str
    stderr: str
    output: Path


def mpirun_command(ranks: int) -> list[str]:
    # The environment's own mpirun goes first: Horovod is compiled against it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mpirun = shutil.which("mpirun", path=path)
    assert mpirun, "mpirun is missing: run `make setup`"
    placement = ["--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"]
    # As in the jobs: plain TCP and shared memory. Others, such as UCX, print errors where there is no /sys.
    transport = ["--mca", "pml", "ob1", "--mca", "btl", "^openib"]
    return [mpirun, "-np", str(ranks), *placement, *transport, sys.executable]


def end(process: subprocess.Popen[str]) -> None:
    """Ends mpirun and its ranks, which put themselves into process groups of their own, with no time to clean up."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    for member in [process, *family]:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            pass
    psutil.wait_procs(family, timeout=10)


def start(ranks: int, arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    root = {f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
        return subprocess.Popen(
            [*mpirun_command(ranks), *arguments],
            cwd=ROOT,
            env=os.environ | root,
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )


@pytest.fixture(scope="session")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Runs Python under mpirun until it ends or prints `kill_at`, and ends all of it after `timeout` seconds."""

    def run(ranks: int, *arguments: str | Path, output: Path, kill_at: str | None = None, timeout: float = 150) -> Run:
        logs = tmp_path_factory.mktemp("logs")
        process = start(ranks, [str(argument) for argument in arguments], logs)
        deadline = time.monotonic() + timeout
        try:
            while process.poll() is None and not (kill_at and kill_at in (logs / "stdout").read_text()):
                assert time.monotonic() < deadline, f"still running after {timeout} s: {(logs / 'stderr').read_text()}"
                time.sleep(0.02)
        finally:
            end(process)
            code = process.wait(timeout=10)
        return Run(code, (logs / "stdout").read_text(), (logs / "stderr").read_text(), output)

    return run


@pytest.fixture(scope="session")
def digits(launch: Callable[..., Run]) -> Callable[..., Run]:
    """Runs training.digits under mpirun."""

    def run(ranks: int, output: Path, *arguments: str, kill_at: str | None = None) -> Run:
        return launch(
            ranks, "-m", "training.digits", "--output-dir", output, *arguments, output=output, kill_at=kill_at
        )

    return run


@pytest.fixture(scope="session")
def finished(digits: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two ranks with the default options, uninterrupted."""
    return digits(2, tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="session")
def killed(digits: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same, killed without warning after the eighth of twelve epochs."""
    return digits(2, tmp_path_factory.mktemp("killed"), kill_at="epoch 8/12")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """An S3 with the empty bucket `data`, which this process finds by its environment."""
    server = S3Server()
    server.client.create_bucket(Bucket="data")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()
