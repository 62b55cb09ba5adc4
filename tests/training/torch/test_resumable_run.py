import json
import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from training.torch import ResumableRun


class Killed(Exception):
    pass


class Points(Dataset[Any]):
    """48 points with noise that is drawn when they are read."""

    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        point = torch.full((4,), number / 48)
        return point + 0.1 * torch.randn(4) + random.random(), point.sum()


class Script:
    """A user's script of 2 epochs of 6 batches, with dropout, a schedule of epochs and accumulated gradients."""

    def __init__(self, output: Path, *, accumulated: int = 1, workers: int = 0, every: str = "1steps") -> None:
        torch.manual_seed(0)
        self.output, self.accumulated = output, accumulated
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.5)
        self.run = ResumableRun(
            output,
            model=self.model,
            optimizer=self.optimizer,
            scheduler=self.scheduler,
            seed=1,
            checkpoint_every=every,
        )
        self.loader = self.run.loader(Points(), 8, num_workers=workers)
        self.epochs: list[int] = []
        self.numbers: list[int] = []

    def train(self, before_end_of_step: Callable[[int], object] = lambda _: None) -> "Script":
        for epoch in self.run.epochs(2):
            self.epochs.append(epoch)
            for number, (points, sums) in self.run.enumerate(self.loader):
                self.numbers.append(number)
                loss = (self.model(points).squeeze() - sums).square().mean()
                (loss / self.accumulated).backward()
                if (number + 1) % self.accumulated == 0:
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                self.run.log(loss=loss)
                before_end_of_step(self.run.step + 1)
            self.scheduler.step()
            self.run.log(accuracy=0.25 * epoch)
        return self

    @property
    def bits(self) -> list[bytes]:
        return [each.numpy().tobytes() for each in self.model.state_dict().values()]

    @property
    def history(self) -> Any:
        return json.loads((self.output / "results.json").read_text())["history"]


def kill_at(step: int) -> Callable[[int], object]:
    def kill(now: int) -> None:
        if now == step:
            raise Killed

    return kill


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Script:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("training.runtime.curve.draw", lambda output: None)
        return Script(tmp_path_factory.mktemp("undisturbed") / "out").train()


@pytest.mark.parametrize("step", [1, 2, 6, 7, 12])
def test_a_run_that_is_killed_ends_with_the_same_bits(undisturbed: Script, tmp_path: Path, step: int) -> None:
    with suppress(Killed):
        Script(tmp_path).train(kill_at(step))
    resumed = Script(tmp_path).train()
    assert resumed.bits == undisturbed.bits
    assert resumed.history == undisturbed.history
    # The steps after the last checkpoint are repeated: the one in which it was killed, and the last of an epoch.
    assert resumed.numbers[0] == (step - 1) % 6 if step not in (6, 7) else 5


def test_a_checkpoint_of_an_earlier_step_gives_the_same_bits(undisturbed: Script, tmp_path: Path) -> None:
    with suppress(Killed):
        Script(tmp_path, every="4steps").train(kill_at(7))
    assert Script(tmp_path).train().bits == undisturbed.bits


def test_workers_read_the_samples_of_the_process(undisturbed: Script, tmp_path: Path) -> None:
    with suppress(Killed):
        Script(tmp_path, workers=1).train(kill_at(3))
    assert Script(tmp_path, workers=2).train().bits == undisturbed.bits


def test_nothing_is_saved_while_gradients_are_accumulated(tmp_path: Path) -> None:
    expected = Script(tmp_path / "undisturbed", accumulated=4).train().bits
    for step in (3, 6, 8, 9, 11):
        with suppress(Killed):
            Script(tmp_path / str(step), accumulated=4).train(kill_at(step))
        saved = sorted(each.name for each in (tmp_path / str(step) / "checkpoints").glob("step-*"))
        # The fourth batch of each epoch steps; the two behind it add to the gradients of the next epoch.
        assert saved == ["step-00000004.checkpoint"] * (step > 4) + ["step-00000010.checkpoint"] * (step > 10)
        assert Script(tmp_path / str(step), accumulated=4).train().bits == expected


def test_a_stop_request_saves_and_ends_with_its_own_code(undisturbed: Script, tmp_path: Path) -> None:
    def stop(step: int) -> None:
        if step == 6:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as end:
        Script(tmp_path, every="100steps").train(stop)
    assert end.value.code == 75
    resumed = Script(tmp_path, every="100steps").train()
    assert resumed.epochs == [1]
    assert resumed.bits == undisturbed.bits


def test_a_finished_run_does_nothing_and_has_its_weights(
    undisturbed: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    again = Script(undisturbed.output).train()
    assert again.epochs == []
    assert again.bits == undisturbed.bits
    assert "nothing to do" in capsys.readouterr().out


def test_a_run_that_ends_early_stays_at_its_end(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.train(lambda _: script.run.end())
    assert script.epochs == [0]
    assert Script(tmp_path).train().epochs == []


def test_the_loader_has_the_length_of_the_epoch_before_and_after_a_resume(tmp_path: Path) -> None:
    with suppress(Killed):
        Script(tmp_path).train(kill_at(3))
    script, lengths = Script(tmp_path), list[int]()
    assert len(script.loader) == 6
    script.train(lambda _: lengths.append(len(script.loader)))
    assert set(lengths) == {6}


def test_a_loader_of_the_users_own_has_the_order_of_the_run(undisturbed: Script, tmp_path: Path) -> None:
    script = Script.__new__(Script)
    Script.__init__(script, tmp_path)
    del script.run._sampler
    dataset = Points()
    script.loader = DataLoader(dataset, 8, sampler=script.run.sampler(dataset, batch_size=8))
    assert script.train().bits == undisturbed.bits


def test_warns_of_another_data_set_of_the_same_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(Killed):
        Script(tmp_path).train(kill_at(3))
    Points.__getitem__, before = lambda self, number: (torch.ones(4), torch.ones(())), Points.__getitem__  # type: ignore[method-assign]
    try:
        Script(tmp_path).train()
    finally:
        Points.__getitem__ = before  # type: ignore[method-assign]
    said = capsys.readouterr().err
    assert "warning: sample 0 of the data set is another one than at an earlier start of this run" in said
    assert said.count("warning: sample") == 1


# ---------------------------------------------------------------------------------------------------------- errors


def error_of(capsys: pytest.CaptureFixture[str], action: Callable[[], object]) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        action()
    assert end.value.code == 2
    found = capsys.readouterr().err
    assert found.startswith("error: ")
    assert "Traceback" not in found
    return found.removeprefix("error: ")


def simple(output: Path, **keywords: Any) -> ResumableRun:
    model = nn.Linear(4, 1)
    return ResumableRun(
        output, **{"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1), **keywords}
    )


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"seed": -1}, "'seed' is -1; give a whole number, 0 or more"),
        ({"keep_checkpoints": 0}, "'keep_checkpoints' is 0; give a whole number, 1 or more"),
        (
            {"checkpoint_every": "often"},
            "'checkpoint_every' is 'often'; give a whole number of steps, epochs or minutes",
        ),
    ],
)
def test_rejects_a_value(
    keywords: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in error_of(capsys, lambda: simple(tmp_path, **keywords))


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(range(4))


def test_rejects_a_data_set_or_an_order_in_which_it_cannot_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = simple(tmp_path)
    assert "is a Stream, whose samples have no numbers" in error_of(capsys, lambda: run.loader(Stream(), 2))
    assert "'shuffle' is True, but the run decides the order" in error_of(
        capsys, lambda: run.loader(Points(), 2, shuffle=True)
    )
    run_loader = run.loader(Points(), 2)
    assert "and gets a second one; join the data sets" in error_of(capsys, lambda: run.loader(Points(), 2))
    for _ in run.epochs(1):
        next(iter(run.batches(run_loader)))
        other = DataLoader(TensorDataset(torch.zeros(48, 4)), 2, shuffle=True)
        assert "has the order of RandomSampler, which a resumed run would not find again; make it by" in error_of(
            capsys, partial(list, run.batches(other))
        )
        larger = DataLoader(Points(), 4, sampler=run._sampler)
        assert "has batch_size=4, and its sampler 2; give" in error_of(capsys, partial(list, run.batches(larger)))


def test_rejects_calls_in_another_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = simple(tmp_path)
    assert "the run has no data yet; call run.loader" in error_of(capsys, lambda: list(run.epochs(1)))
    loader = run.loader(Points(), 2)
    assert "call run.batches within 'for epoch in run.epochs" in error_of(capsys, lambda: list(run.batches(loader)))
    for _ in run.epochs(1):
        list(run.batches(loader))
    assert "called a second time" in error_of(capsys, lambda: list(run.epochs(2)))


def finish(output: Path, **keywords: Any) -> ResumableRun:
    run = simple(output, **keywords)
    loader = run.loader(Points(), 2)
    for _ in run.epochs(1):
        list(run.batches(loader))
    return run


def test_rejects_the_checkpoint_of_another_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finish(tmp_path, seed=1)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for keywords, words in [
        ({"seed": 2}, "'seed' is 2, but the checkpoints in"),
        ({"seed": 1, "model": model, "optimizer": optimizer}, "model/weight is float32 of 2x4"),
        ({"seed": 1, "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1)}, "'scheduler' is here, and not there"),
    ]:
        assert words in error_of(capsys, lambda: finish(tmp_path, **keywords))  # noqa: B023


def test_rejects_an_object_without_a_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "'best' is a float, which has no state; give an object with 'state_dict()'" in error_of(
        capsys, lambda: finish(tmp_path, others={"best": 0.5})
    )


def test_rejects_ranks_that_are_not_connected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert (
        "WORLD_SIZE is 2, but the script has not connected its ranks; call torch.distributed.init_process"
        in error_of(capsys, lambda: simple(tmp_path))
    )


def test_rejects_a_loop_over_the_loader_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = simple(tmp_path)
    run.loader(Points(), 2)
    assert "has ended without run.batches(), so that no step was counted" in error_of(
        capsys, lambda: list(run.epochs(2))
    )


def test_rejects_a_number_without_a_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(SystemExit):
        ResumableRun(tmp_path, model=model, optimizer=optimizer, checkpoint_every=5)  # type: ignore[arg-type]
    assert "'checkpoint_every' is '5'; give a whole number of steps, epochs or minutes" in capsys.readouterr().err
