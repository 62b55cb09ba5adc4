import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.training.imagenet import imagenet_archives
from tests.training.imagenet.imagenet_conversion import command, contents, write_here
from training.imagenet.convert import __main__ as convert
from training.imagenet.convert import plan, pool
from training.runtime.errors import UserError

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough work to be interrupted in."""
    folder = tmp_path_factory.mktemp("long")
    content = imagenet_archives.jpeg(0, height=600, width=800)
    for split, count in (("train", 60), ("val", 1)):
        for synset in imagenet_archives.SYNSETS:
            (folder / split / synset).mkdir(parents=True)
            for number in range(count):
                (folder / split / synset / f"{synset}_{number}.JPEG").write_bytes(content)
    return folder


def interrupt(given: list[str], output: Path, shards: int, number: int) -> tuple[int, str, float]:
    """Sends a signal to the program and all its processes as soon as there are so many shards."""
    process = subprocess.Popen(
        given, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 90
    while len(list(output.glob("train-*-of-00060"))) < shards:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # Ctrl-C reaches all of the terminal's processes; kill -9 the one that it is given.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    started = time.monotonic()
    # Its end is that of the processes too: they hold the other end of the pipe.
    _, told = process.communicate(timeout=30)
    return process.returncode, told, time.monotonic() - started


def test_an_interrupted_and_a_killed_run_go_on(long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "shards"
    given = command(
        long, output, "--workers", "1", "--train-shards", "60", "--validation-shards", "1", "--resize", "32"
    )
    code, told, seconds = interrupt(given, output, 1, signal.SIGINT)
    assert (code, told) == (130, "stopped; the same command goes on from here: the finished shards stay\n")
    assert seconds < 10
    assert not list(output.glob(".*"))
    assert interrupt(given, output, 10, signal.SIGKILL)[0] == -9
    assert len(list(output.glob("train-*-of-00060"))) < 60
    monkeypatch.setattr(pool, "run", write_here)
    for folder in (output, tmp_path / "undisturbed"):
        assert convert.run(convert.parse_options([*given[3:5], "--output-dir", str(folder), *given[7:]])) == 0
    assert contents(output) == contents(tmp_path / "undisturbed")


def test_a_process_that_is_killed_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = plan.Shard(tmp_path / "shard", [])
    monkeypatch.setattr(pool, "_write", _die)
    with pytest.raises(UserError) as caught:
        list(pool.run(plan.Work(synsets=["n"], short_side=None, skip=False), [shard], 3))
    assert str(caught.value) == (
        "one of 3 processes was ended from outside, as the kernel does when memory runs out; "
        "give fewer '--workers' or more memory, then start again: the finished shards stay"
    )


def _die(work: plan.Work, shard: plan.Shard) -> list[str]:
    os.kill(os.getpid(), signal.SIGKILL)
    return []
