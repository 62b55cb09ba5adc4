from pathlib import Path
from typing import Any

import pytest
import torch

# It is in the environment of the conformance scripts. By a module of it: the folder of this test has its name, too.
pytest.importorskip("transformers.trainer")

import transformers

from training.transformers import ResumeCallback


class Numbers(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"x": torch.full((4,), number / 64), "labels": torch.rand(())}


class Stream(torch.utils.data.IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(Numbers())


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": (self.layers(x).squeeze() - labels).square().mean()}


class Killer(transformers.TrainerCallback):
    def __init__(self, step: int | None) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def train(output: Path, *, kill_at: int | None = None, dataset: Any = None, **arguments: Any) -> list[bytes]:
    transformers.set_seed(1)
    resume = ResumeCallback()
    given = {"num_train_epochs": 2, "per_device_train_batch_size": 8, "save_steps": 3, "use_cpu": True, **arguments}
    trainer = transformers.Trainer(
        Network(),
        transformers.TrainingArguments(str(output), report_to="none", disable_tqdm=True, **given),
        train_dataset=dataset or Numbers(),
        callbacks=[resume, Killer(kill_at)],
    )
    resume.train(trainer)
    return [each.detach().numpy().tobytes() for each in trainer.model.state_dict().values()]


@pytest.mark.parametrize("step", [2, 4, 8, 11])
def test_a_killed_run_ends_with_the_same_bits(step: int, tmp_path: Path) -> None:
    expected = train(tmp_path / "undisturbed")
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "killed", kill_at=step)
    assert train(tmp_path / "killed") == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"save_strategy": "no"}, "'save_strategy' is 'no', with which no run resumes; give 'steps' or 'epoch'"),
        ({"save_only_model": True}, "'save_only_model' is True"),
        ({"save_total_limit": 1}, "'save_total_limit' is 1, with which no run resumes; give 2 or more"),
        ({"ignore_data_skip": True}, "'ignore_data_skip' is True"),
        ({"dataset": Stream(), "max_steps": 4}, "the training data set is a Stream, whose samples have no numbers"),
    ],
)
def test_rejects_what_cannot_resume(
    arguments: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        train(tmp_path, **arguments)
    assert end.value.code == 2
    assert words in capsys.readouterr().err
