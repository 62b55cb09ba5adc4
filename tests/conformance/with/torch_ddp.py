"""Train with DistributedDataParallel, with workers that augment the samples."""

import random
import time

import torch
import torch.distributed as dist
from exact_resume.torch import ResumableRun
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Points(torch.utils.data.Dataset):
    """Points of a plane in 32 dimensions, whose class is the sign of their sum."""

    def __len__(self) -> int:
        return 1024

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        point = torch.randn(32, generator=torch.Generator().manual_seed(number))
        noise = 0.1 * torch.randn(32) + 0.1 * random.random()
        return point + noise, int(point.sum() > 0)


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    layers = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    run = ResumableRun("out", model=model, optimizer=optimizer, seed=1, checkpoint_every="10steps")
    loader = run.loader(Points(), batch_size=16, num_workers=1, persistent_workers=True)
    run.scheduler = scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=4 * len(loader))
    for epoch in run.epochs(4):
        for points, classes in run.batches(loader):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(points), classes)
            loss.backward()
            optimizer.step()
            scheduler.step()
            # As long as a step of a larger network.
            time.sleep(0.02)
            if dist.get_rank() == 0:
                print(f"epoch {epoch + 1}, step {run.step}: loss {loss.item():.6f}", flush=True)
    if dist.get_rank() == 0:
        torch.save(layers.state_dict(), "out/model.pt")
    dist.destroy_process_group()


main()
