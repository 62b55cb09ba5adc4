import io
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.training.imagenet import imagenet_archives
from tests.training.imagenet.imagenet_conversion import command, contents, write_here
from training.imagenet.convert import __main__ as convert
from training.imagenet.convert.class_conversion import Conversion
from training.records.conversion import shard_processes
from training.records.conversion.shard_plan import Shard
from training.records.conversion.shard_processes import Progress
from training.runtime.errors import UserError

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a source whose conversion takes long enough for a signal."""
    folder = tmp_path_factory.mktemp("long")
    content = imagenet_archives.jpeg(0, height=600, width=800)
    for split, count in (("train", 60), ("val", 1)):
        for synset in imagenet_archives.SYNSETS:
            (folder / split / synset).mkdir(parents=True)
            for number in range(count):
                (folder / split / synset / f"{synset}_{number}.JPEG").write_bytes(content)
    return folder


def interrupt(given: list[str], output: Path, shards: int, number: int) -> tuple[int, str, float]:
    """Send a signal to the program and its processes when this number of shards exists."""
    process = subprocess.Popen(
        given, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 240
    while len(list(output.glob("train-*-of-00060"))) < shards:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # Ctrl-C reaches all processes of the terminal; kill -9 one of them.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    started = time.monotonic()
    # All its processes have ended too: they have the other end of the pipe.
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr, time.monotonic() - started


@pytest.mark.whole_run
def test_resumes_an_interrupted_and_a_killed_run(long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "shards"
    given = command(
        long, output, "--workers", "1", "--train-shards", "60", "--validation-shards", "1", "--resize", "32"
    )
    code, stderr, seconds = interrupt(given, output, 1, signal.SIGINT)
    assert (code, stderr) == (130, "stopped; the same command resumes: the finished shards are kept\n")
    assert seconds < 40
    assert not list(output.glob(".*"))
    assert interrupt(given, output, 10, signal.SIGKILL)[0] == -9
    assert len(list(output.glob("train-*-of-00060"))) < 60
    monkeypatch.setattr(shard_processes, "run", write_here)
    for folder in (output, tmp_path / "undisturbed"):
        assert convert.run(convert.parse([*given[3:5], "--output-dir", str(folder), *given[7:]])) == 0
    assert contents(output) == contents(tmp_path / "undisturbed")


class Dying(Conversion):
    def write(self, shard: Shard) -> list[str]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []


def test_a_killed_process_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        list(
            shard_processes.run(
                Dying(numbers={}, classes=0, short_side=None, skip=False), [Shard(tmp_path / "shard", [])], 3
            )
        )
    assert str(caught.value) == (
        "another process ended one of 3 processes, as the kernel does when memory runs out; "
        "give fewer '--workers' or more memory, then start again: the finished shards stay"
    )


# -------------------------------------------------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_writes_a_line_to_a_log_every_30_seconds() -> None:
    now, log = [100.0], io.StringIO()
    progress = Progress(500, 2000, log, clock=lambda: now[0])
    progress.add(100)
    assert log.getvalue() == ""
    now[0] = 130.0
    progress.add(200)
    progress.add(100)
    # 300 images in 30 s of this run; 1,200 are left then.
    assert log.getvalue() == "[############..................] 800/2,000 images, 10 images/s, 2.0 minutes left\n"
    now[0] = 200.0
    progress.end()
    assert log.getvalue().splitlines()[1:] == [
        "[##############................] 900/2,000 images, 4 images/s, 4.6 minutes left"
    ]


def test_rewrites_a_bar_on_a_terminal() -> None:
    now, terminal = [0.0], Terminal()
    progress = Progress(0, 10, terminal, clock=lambda: now[0])
    now[0] = 1.0
    progress.add(5)
    progress.add(5)
    progress.end()
    assert terminal.getvalue() == (
        "\r[###############...............] 5/10 images, 5 images/s, 0.0 minutes left\x1b[K"
        "\r[##############################] 10/10 images, 10 images/s, 0.0 minutes left\x1b[K\n"
    )


def test_the_line_before_the_first_image() -> None:
    progress = Progress(0, 10, io.StringIO(), clock=lambda: 0.0)
    assert progress.line() == "[..............................] 0/10 images, 0 images/s, no image yet"
