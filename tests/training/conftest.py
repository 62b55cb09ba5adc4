"""Runs of several ranks, made once and shared by the tests; and an S3 to stage data from."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.training.mpirun import PATIENCE, Run, end, start
from training.runtime import watchdog

if TYPE_CHECKING:
    from tests.training.s3_server import S3Server

_LIMIT = "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"


@pytest.fixture(autouse=True)
def _no_watchdog() -> Iterator[None]:
    """Stop the watchdog that code under test has started here: it would end the tests ten minutes later."""
    before = os.environ.get(_LIMIT)
    yield
    watchdog.finished()
    if before is None:
        # The watchdog sets it for Horovod: the programs that later tests start would have it too.
        os.environ.pop(_LIMIT, None)


@pytest.fixture(scope="session")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Run Python under mpirun until it ends or prints `kill_at`."""

    def run(ranks: int, *arguments: str | Path, output: Path, kill_at: str | None = None) -> Run:
        logs = tmp_path_factory.mktemp("logs")
        process = start(ranks, [str(argument) for argument in arguments], logs)
        deadline = time.monotonic() + PATIENCE
        try:
            while process.poll() is None and not (kill_at and kill_at in (logs / "stdout").read_text()):
                assert time.monotonic() < deadline, f"still running after {PATIENCE} s: {(logs / 'stderr').read_text()}"
                time.sleep(0.02)
        finally:
            end(process)
            code = process.wait(timeout=PATIENCE)
        return Run(code, (logs / "stdout").read_text(), (logs / "stderr").read_text(), output)

    return run


@pytest.fixture(scope="session")
def digits(launch: Callable[..., Run]) -> Callable[..., Run]:
    """Run training.digits under mpirun."""

    def run(ranks: int, output: Path, *arguments: str, kill_at: str | None = None) -> Run:
        return launch(
            ranks, "-m", "training.digits", "--output-dir", output, *arguments, output=output, kill_at=kill_at
        )

    return run


@pytest.fixture(scope="session")
def finished(digits: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run of two ranks with the default options, uninterrupted."""
    return digits(2, tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="session")
def killed(digits: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the same run, killed without warning after the eighth of twelve epochs."""
    return digits(2, tmp_path_factory.mktemp("killed"), kill_at="epoch 8/12")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> "Iterator[S3Server]":
    """Start an S3 with the empty bucket `data`, which this process finds by its environment."""
    # Here: PyTorch's environment has no S3.
    from tests.training.s3_server import S3Server

    server = S3Server()
    server.client.create_bucket(Bucket="data")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()
