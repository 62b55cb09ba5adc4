from pathlib import Path
from typing import Any

import pytest
import torch

# It is in the environment of the conformance scripts.
pytest.importorskip("lightning.pytorch")

from lightning import pytorch as lightning

from training.lightning import ResumeCallback


class Numbers(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.full((4,), number / 48) + torch.rand(4)


class Network(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))

    def training_step(self, batch: torch.Tensor, number: int) -> torch.Tensor:
        return self.layers(batch).square().mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


class Killer(lightning.Callback):
    def __init__(self, batches: int | None) -> None:
        self.left = batches

    def on_train_batch_start(self, *_: Any) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("killed")


def train(output: Path, *, kill_after: int | None = None, accumulated: int = 1, **keywords: Any) -> list[bytes]:
    torch.manual_seed(1)
    resume = ResumeCallback(output, seed=1, checkpoint_every="1steps")
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=2,
        accumulate_grad_batches=accumulated,
        callbacks=[resume, Killer(kill_after)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Network()
    resume.fit(trainer, model, resume.loader(trainer, Numbers(), 8, **keywords))
    return [each.numpy().tobytes() for each in model.state_dict().values()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("after", "accumulated"), [(0, 1), (3, 1), (6, 1), (8, 1), (12, 1), (3, 2), (7, 4)])
def test_a_killed_run_ends_with_the_same_bits(after: int, accumulated: int, tmp_path: Path) -> None:
    expected = train(tmp_path / "undisturbed", accumulated=accumulated)
    if after < 12:
        with pytest.raises(RuntimeError, match="killed"):
            train(tmp_path / "killed", kill_after=after, accumulated=accumulated)
    else:
        train(tmp_path / "killed", accumulated=accumulated)
    assert train(tmp_path / "killed", accumulated=accumulated) == expected


@pytest.mark.filterwarnings("ignore")
def test_rejects_another_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        train(tmp_path, shuffle=True)
    assert end.value.code == 2
    assert "'shuffle' is given, but the run decides the order" in capsys.readouterr().err
