"""Train with Lightning on two processes."""

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))

    def training_step(self, batch, _):
        inputs, targets = batch
        loss = nn.functional.cross_entropy(self.layers(inputs), targets)
        self.log("train_loss", loss, prog_bar=True)
        if self.global_step % 4 == 0 and self.global_rank == 0:
            print(f"epoch {self.current_epoch} step {self.global_step}: loss {loss.item():.6f}")
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)]


L.seed_everything(1)
x = torch.randn(1024, 32)
dataset = TensorDataset(x, (x @ torch.randn(32, 10)).argmax(dim=1))
loader = DataLoader(dataset, batch_size=16, shuffle=True)
trainer = L.Trainer(
    accelerator="cpu",
    devices=2,
    strategy="ddp",
    max_epochs=6,
    logger=False,
    callbacks=[ModelCheckpoint(dirpath="checkpoints", save_last=True)],
)
trainer.fit(Classifier(), loader, ckpt_path="last")
