"""Accumulate gradients over four batches, with a schedule and workers that load the data."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

ACCUMULATED, EPOCHS = 4, 4


class Noisy(Dataset):
    def __init__(self):
        self.points = torch.randn(1024, 32, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        point = self.points[index]
        return point + 0.1 * torch.randn(32), point.sum(dim=0, keepdim=True)


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
dataset = Noisy()
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=8, sampler=sampler, num_workers=1, persistent_workers=True)
model = DistributedDataParallel(nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=EPOCHS * len(loader) // ACCUMULATED)

first = 0
if os.path.exists("last.pt"):
    saved = torch.load("last.pt")
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    scheduler.load_state_dict(saved["scheduler"])
    first = saved["epoch"] + 1

for epoch in range(first, EPOCHS):
    sampler.set_epoch(epoch)
    for step, (inputs, targets) in enumerate(loader, start=1):
        loss = nn.functional.mse_loss(model(inputs), targets)
        (loss / ACCUMULATED).backward()
        if step % ACCUMULATED == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            if rank == 0:
                print(f"epoch {epoch} step {step}: loss {loss.item():.6f} lr {scheduler.get_last_lr()[0]:.6f}")
    if rank == 0:
        names = {"model": model.module, "optimizer": optimizer, "scheduler": scheduler}
        torch.save({name: each.state_dict() for name, each in names.items()} | {"epoch": epoch}, "last.pt")
dist.destroy_process_group()
