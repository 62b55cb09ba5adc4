"""Train a LightningModule on two ranks."""

import torch
from exact_resume.lightning import ResumeCallback
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import nn


class Points(torch.utils.data.Dataset):
    """Points of a plane in 32 dimensions with noise, whose class is the sign of their sum."""

    def __len__(self) -> int:
        return 1024

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        point = torch.randn(32, generator=torch.Generator().manual_seed(number))
        return point + 0.1 * torch.randn(32), int(point.sum() > 0)


class Classifier(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))

    def training_step(self, batch, number):
        points, classes = batch
        loss = nn.functional.cross_entropy(self.layers(points), classes)
        if self.global_rank == 0 and number % 2:
            print(f"epoch {self.current_epoch + 1}, step {self.global_step}: loss {loss.item():.6f}", flush=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=2e-3)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2)]


def main() -> None:
    seed_everything(1)
    resume = ResumeCallback("out", seed=1, checkpoint_every="10steps")
    trainer = Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=4,
        accumulate_grad_batches=2,
        callbacks=[resume],
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    model = Classifier()
    loader = resume.loader(trainer, Points(), batch_size=8, num_workers=1, persistent_workers=True)
    resume.fit(trainer, model, loader)
    if trainer.is_global_zero:
        torch.save(model.state_dict(), "out/model.pt")


main()
