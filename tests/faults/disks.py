"""Disks that are full or read-only while the run saves: it must continue, and save again as soon as it can."""

import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from tests.faults.disturbed_programs import CHECKPOINT_STEPS
from tests.faults.launched import Launched
from tests.faults.life import Fault, Life, expect

_WARNING = "could not be written"

# Checkpoints of the small network have 27 KB, and four of them are there at a time; a page has 4,096 bytes.
_DISK_BYTES, _PAGE = 256 * 1024, 4096


def unwritable(how: str, step: int, saves: int = 1) -> Fault:
    """Let some saves fail, then let the run save again, and kill it."""

    def inject(life: Life) -> None:
        with life.run() as run:
            run.wait_for_step(step)
            with WAYS[how](life, run):
                run.wait_for(_WARNING, saves)
                older = life.saved
                last = max(run.losses)
                expect(older >= life.promised, f"the checkpoint of step {life.promised} did not survive")
            _save_again(life, run, last)
            run.kill()

    return Fault(kind="unwritable disk", what=f"{how}, from step {step} on", inject=inject)


def filling(pages: int) -> Fault:
    """Take some of the room after each save until a save fails, then let the run save again, and kill it."""

    def inject(life: Life) -> None:
        filler = life.checkpoints / "filler"
        with life.run() as run, filler.open("wb", buffering=0) as stream:
            while _WARNING not in run.stderr:
                with suppress(OSError):
                    stream.write(bytes(pages * _PAGE))
                _wait_for_save(life, run)
            older, last = life.saved, max(run.losses)
            expect(older >= life.promised, f"the checkpoint of step {life.promised} did not survive")
            filler.unlink()
            stream.truncate(0)
            _save_again(life, run, last)
            run.kill()

    return Fault(kind="disk that fills", what=f"by {pages} pages after each save", inject=inject)


def _wait_for_save(life: Life, run: Launched) -> None:
    saved = life.saved
    run.wait_until(lambda: life.saved > saved or _WARNING in run.stderr, "a save", pause=0.05)


def _save_again(life: Life, run: Launched, last: int) -> None:
    """Wait until a save that began after a step is surely written: until the one after it has begun."""
    run.wait_for_step(last + 2 * CHECKPOINT_STEPS + 1)
    expect(life.saved > last, f"with room again it did not save after step {last}")


def full_to_the_end(step: int) -> Fault:
    """Keep the disk full until the run has ended: it must report what it could not write."""

    def inject(life: Life) -> None:
        with life.run() as run:
            run.wait_for_step(step)
            with _full(life, run):
                code = run.end()
            expect(code == 2, f"it ended with code {code}, not 2")
            errors = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
            expect(any("No space left on device" in line for line in errors), "it did not print the reason")
        life.promised = life.saved

    return Fault(kind="unwritable disk", what=f"full, from step {step} to the end", inject=inject)


@contextmanager
def mounted(life: Life) -> Iterator[None]:
    """Mount small disks as the output folder, and as the folder of checkpoints in it."""
    with ExitStack() as stack:
        for folder in (life.output, life.checkpoints):
            folder.mkdir(exist_ok=True)
            _run("mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", folder)
            stack.callback(_run, "umount", folder)
        yield


def can_mount(folder: Path) -> bool:
    """Return whether this user may mount: root may, outside of most containers."""
    if os.getuid() != 0:
        return False
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode == 0
    if done:
        _run("umount", folder)
    return done


# ------------------------------------------------------------------------------------------------------------- ways


@contextmanager
def _checkpoints_full(life: Life, run: Launched) -> Iterator[None]:
    with _filled(life.checkpoints):
        yield


@contextmanager
def _full(life: Life, run: Launched) -> Iterator[None]:
    """Fill the output folder too, so that TensorBoard's curves have no room either."""
    with _filled(life.output), _filled(life.checkpoints):
        yield


@contextmanager
def _filled(folder: Path) -> Iterator[None]:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(_PAGE))
    yield
    filler.unlink()


@contextmanager
def _read_only(life: Life, run: Launched) -> Iterator[None]:
    # Fails while a file is being written, which takes a moment only.
    for _ in range(200):
        with suppress(subprocess.CalledProcessError):
            _run("mount", "-o", "remount,ro", life.checkpoints)
            break
        time.sleep(0.005)
    yield
    _run("mount", "-o", "remount,rw", life.checkpoints)


@contextmanager
def _limited(life: Life, run: Launched) -> Iterator[None]:
    """Set the system's limit on the size of files, which needs no privilege."""
    process = run.rank(0)
    before = process.rlimit(resource.RLIMIT_FSIZE)
    process.rlimit(resource.RLIMIT_FSIZE, (_PAGE, before[1]))
    yield
    process.rlimit(resource.RLIMIT_FSIZE, before)


WAYS: dict[str, Callable[[Life, Launched], AbstractContextManager[None]]] = {
    "checkpoints full": _checkpoints_full,
    "all full": _full,
    "checkpoints read-only": _read_only,
    "files limited to 4 KB": _limited,
}


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)
