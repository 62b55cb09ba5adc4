import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

from tests.training.mpirun import PATIENCE, ROOT
from training.runtime import checkpoint
from training.runtime.checkpoint_writer import CheckpointWriter

_SAVE = checkpoint.save


class HeldSave:
    """In the place of `checkpoint.save`: it writes as soon as the test lets it."""

    def __init__(self) -> None:
        self.begun, self.may_write = threading.Semaphore(0), threading.Event()
        self.steps: list[int] = []
        self.blocked: set[int] = set()

    def __call__(self, folder: Path, state: checkpoint.Checkpoint, keep: int) -> Path:
        self.steps.append(state.step)
        self.blocked = {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())}
        self.begun.release()
        assert self.may_write.wait(PATIENCE)
        return _SAVE(folder, state, keep)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldSave]:
    save = HeldSave()
    monkeypatch.setattr(checkpoint, "save", save)
    yield save
    save.may_write.set()


def newest(output: Path) -> checkpoint.Checkpoint | None:
    return checkpoint.newest(output / "checkpoints")


def test_training_changes_the_variables_while_their_old_values_are_written(tmp_path: Path, held: HeldSave) -> None:
    variable = tf.Variable([1.0, 2.0])
    writer = CheckpointWriter(tmp_path)
    writer.save([variable], 7, {"seed": 3})
    variable.assign([8.0, 9.0])
    assert newest(tmp_path) is None
    held.may_write.set()
    assert writer.wait()
    found = newest(tmp_path)
    assert found is not None
    assert (found.step, found.metadata) == (7, {"seed": 3, "world_size": 1, "names": ["Variable:0"]})
    assert [array.tolist() for array in found.arrays] == [[1.0, 2.0]]


def test_a_save_waits_for_the_write_before_it(tmp_path: Path, held: HeldSave) -> None:
    writer = CheckpointWriter(tmp_path)
    writer.save([], 1, {})
    second = threading.Thread(target=writer.save, args=([], 2, {}))
    second.start()
    assert held.begun.acquire(timeout=PATIENCE)
    second.join(0.3)
    assert second.is_alive()
    assert held.steps == [1]
    held.may_write.set()
    second.join(PATIENCE)
    assert writer.wait()
    assert held.steps == [1, 2]


def test_stop_signals_reach_the_main_thread_only(tmp_path: Path, held: HeldSave) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    held.may_write.set()
    writer = CheckpointWriter(tmp_path)
    writer.save([], 1, {})
    writer.wait()
    assert held.blocked >= {signal.SIGTERM, signal.SIGUSR1, signal.SIGINT}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_failed_write_prints_one_warning_and_the_run_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = CheckpointWriter(tmp_path)
    (tmp_path / "checkpoints").write_text("")
    writer.save([], 1, {})
    assert not writer.wait()
    assert not writer.wait()
    assert capsys.readouterr().err == (
        f"warning: the checkpoint of step 1 could not be written to {tmp_path}/checkpoints (File exists); "
        "the run continues, and earlier checkpoints are kept\n"
    )
    (tmp_path / "checkpoints").unlink()
    writer.save([], 2, {})
    assert writer.wait()


def test_an_error_of_the_program_in_the_thread_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(checkpoint, "save", fail)
    writer = CheckpointWriter(tmp_path)
    writer.save([], 1, {})
    with pytest.raises(RuntimeError, match="a mistake"):
        writer.wait()


def test_the_end_of_the_block_waits_by_an_error_too(tmp_path: Path, held: HeldSave) -> None:
    timer = threading.Timer(0.3, held.may_write.set)

    def fail() -> None:
        with CheckpointWriter(tmp_path) as writer:
            writer.save([], 5, {})
            timer.start()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 5


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = (
        "import os, signal, sys, time\nfrom pathlib import Path\n"
        "from training.runtime import checkpoint, watchdog\n"
        "from training.runtime.checkpoint_writer import CheckpointWriter\n"
        f"writer = CheckpointWriter(Path(sys.argv[1]))\n{program}"
    )
    command = [sys.executable, "-c", program, variables.pop("output")]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.parametrize(("stage", "step"), [(1, 1), (2, 2), (4, 2)])
def test_a_kill_in_the_thread_leaves_the_checkpoint_before_or_this_one(tmp_path: Path, stage: int, step: int) -> None:
    program = f"""
writer.save([], 1, {{}})
writer.wait()
fsync, calls = os.fsync, []
def deadly(descriptor):
    calls.append(descriptor)
    if len(calls) == {stage}:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(descriptor)
os.fsync = deadly
writer.save([], 2, {{}})
writer.wait()
"""
    assert run(program, output=str(tmp_path)).returncode == -signal.SIGKILL
    found = newest(tmp_path)
    assert found is not None
    assert found.step == step


def test_the_watchdog_ends_a_rank_whose_write_does_not_end(tmp_path: Path) -> None:
    program = """
checkpoint.save = lambda *_: time.sleep(600)
watchdog.progress()
writer.save([], 1, {})
writer.wait()
"""
    hung = run(program, output=str(tmp_path), HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="2")
    assert hung.returncode == 1
    assert "Timeout (0:00:02)!" in hung.stderr
    assert "in wait" in hung.stderr


def test_an_error_without_a_reason_of_the_system_has_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError("the connection is lost")

    monkeypatch.setattr(checkpoint, "save", fail)
    writer = CheckpointWriter(tmp_path)
    writer.save([], 1, {})
    assert not writer.wait()
    assert (
        f"could not be written to {tmp_path}/checkpoints (the connection is lost); the run" in capsys.readouterr().err
    )
