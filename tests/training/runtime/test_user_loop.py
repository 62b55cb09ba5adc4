import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from training.runtime import curve
from training.runtime.errors import UserError
from training.runtime.every import Every
from training.runtime.stop_request import Stopped
from training.runtime.user_loop import State, UserLoop


class Script:
    """A user's loop of 2 epochs of 3 steps, whose weight is the history of its steps."""

    def __init__(self, output: Path, *, seed: int = 1, every: str = "1steps") -> None:
        count, unit = int(every[0]), every[1:]
        settings = {"seed": seed}
        self.loop = UserLoop(output, settings=settings, batch_size=4, epochs=2, checkpoint_every=Every(count, unit))
        self.weights, self.random = np.zeros(8, np.int64), np.random.default_rng(seed)

    def capture(self) -> State:
        random = json.dumps(self.random.bit_generator.state).encode()
        return State(arrays={"weights": self.weights.copy()}, metadata={"rate": 0.5}, of_rank=random)

    def run(self, after_step: Callable[[int], object] = lambda _: None) -> None:
        found = self.loop.begin()
        try:
            if found:
                self.weights[:] = found.arrays["weights"]
                self.random.bit_generator.state = json.loads(found.of_rank)
                assert found.metadata == {"rate": 0.5}
            self.train(after_step)
        finally:
            self.loop.close()

    def train(self, after_step: Callable[[int], object]) -> None:
        while self.loop.position.epoch < 2:
            done = sum(segment.steps for segment in self.loop.position.segments)
            for step in range(done, 3):
                self.weights[self.loop.position.step] = self.random.integers(1000)
                after_step(self.loop.position.step)
                self.loop.after_step(self.capture, losses=lambda: {"loss": 1.0}, ends_epoch=step == 2)
            self.loop.after_epoch(self.capture, {"loss": 0.5, "val_accuracy": 0.75})
        self.loop.finish(self.capture, {"val_accuracy": 0.75})


class Killed(Exception):
    pass


@pytest.fixture(autouse=True)
def _no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "draw", lambda output: None)


@pytest.fixture
def undisturbed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[int]:
    script = Script(tmp_path / "undisturbed")
    script.run()
    capsys.readouterr()
    numbers: list[int] = script.weights.tolist()
    return numbers


def test_what_is_due_waits_for_a_complete_state(tmp_path: Path) -> None:
    loop = UserLoop(tmp_path, settings={}, batch_size=4, checkpoint_every=Every(2, "steps"))
    loop.begin()
    saved = []

    def capture() -> State:
        saved.append(loop.position.step)
        return State(arrays={})

    for complete in (True, False, False, True, False):
        loop.after_step(capture, is_complete=complete)
    loop.after_epoch(capture, {}, is_complete=False)
    loop.after_step(capture, is_complete=True)
    loop.close()
    # The second step was due, and so was the fourth; the sixth is the first of the next epoch.
    assert saved == [4, 6]


def test_a_finished_run_says_so(undisturbed: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Script(tmp_path / "undisturbed").run()
    assert f"nothing to do: {tmp_path / 'undisturbed'} holds this run, finished\n" in capsys.readouterr().out


@pytest.mark.parametrize("killed", range(6))
def test_a_killed_run_resumes_exactly(undisturbed: list[int], tmp_path: Path, killed: int) -> None:
    def kill(step: int) -> None:
        if step == killed:
            raise Killed

    with pytest.raises(Killed):
        Script(tmp_path / "run").run(kill)
    again = Script(tmp_path / "run")
    again.run()
    assert again.weights.tolist() == undisturbed
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert (results["steps"], results["epochs"], results["val_accuracy"]) == (6, 2, 0.75)
    assert [point["epoch"] for point in results["history"]] == [1, 2]


@pytest.mark.parametrize("stopped", range(6))
def test_a_stop_request_saves_and_resumes_exactly(
    undisturbed: list[int], tmp_path: Path, stopped: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(step: int) -> None:
        if step == stopped:
            os.kill(os.getpid(), signal.SIGUSR1)

    with pytest.raises(Stopped):
        Script(tmp_path / "run", every="9min").run(stop)
    assert "; the same command resumes from here\n" in capsys.readouterr().out
    trained: list[int] = []
    again = Script(tmp_path / "run", every="9min")
    again.run(trained.append)
    # Nothing is trained again, and nothing is lost: ranks look for requests about once in a second.
    assert trained == list(range(6 - len(trained), 6))
    assert len(trained) < 6 - stopped
    assert again.weights.tolist() == undisturbed


def test_another_setting_is_rejected(undisturbed: list[int], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'seed' is 2, but the checkpoints in "):
        Script(tmp_path / "undisturbed", seed=2).run()


def test_the_checkpoints_of_another_program_are_rejected(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.loop.begin()
    script.loop._writer.save_arrays([np.zeros(1)], 1, {"settings": {"seed": 1}, "names": ["weights"]})
    script.loop.close()
    with pytest.raises(UserError, match="are those of another program; give another output folder"):
        Script(tmp_path).run()
