"""Train a network on points of a plane with DistributedDataParallel; put your data and your model in their place.

trainctl run-local train.py --ranks 2
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from exact_resume.torch import ResumableRun
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SEED = 0

parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
# No job has this folder: a job and the script, run at once, write into two.
parser.add_argument("--output-dir", type=Path, default=Path("runs/train.py"), help="of the checkpoints (%(default)s)")
parser.add_argument("--epochs", type=int, default=6, help="passes over the points (%(default)s)")
parser.add_argument("--batch-size", type=int, default=32, help="points per rank and step (%(default)s)")
parser.add_argument("--learning-rate", type=float, default=0.002, help="of the optimizer (%(default)s)")
parser.add_argument("--checkpoint-every", default="10min", help="such as 500steps, 2epochs or 10min (%(default)s)")
options = parser.parse_args()


class Points(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
    """Points in 32 dimensions, whose class is the sign of their sum."""

    def __init__(self, first: int, count: int) -> None:
        """Take so many points, from the number of the first on."""
        self.first, self.count = first, count

    def __len__(self) -> int:
        """Return the number of points."""
        return self.count

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        """Return a point, with some noise, and its class."""
        point = torch.randn(32, generator=torch.Generator().manual_seed(self.first + number))
        return point + 0.1 * torch.randn(32), int(point.sum() > 0)


# Ranks: torchrun starts this script once for each GPU, and says in these variables where the others are.
local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
if device.type == "cuda":
    torch.cuda.set_device(device)
dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")

torch.manual_seed(SEED)
network = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 2)).to(device)
# Ranks: each step uses the mean gradient of all ranks.
model = DistributedDataParallel(network, device_ids=[local_rank] if device.type == "cuda" else None)
optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)

# A killed run resumes at the next step, with the same results.
run = ResumableRun(
    options.output_dir,
    model=model,
    optimizer=optimizer,
    scheduler=scheduler,
    seed=SEED,
    checkpoint_every=options.checkpoint_every,
)
loader = run.loader(Points(0, 4096), batch_size=options.batch_size, num_workers=1, persistent_workers=True)
tests = torch.utils.data.DataLoader(Points(4096, 512), batch_size=128)

for _ in run.epochs(options.epochs):
    model.train()
    for points, classes in run.batches(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points.to(device)), classes.to(device))
        loss.backward()
        optimizer.step()
        run.log(loss=loss.detach())
    scheduler.step()
    network.eval()
    with torch.no_grad():
        right = [network(points.to(device)).argmax(1) == classes.to(device) for points, classes in tests]
    run.log(test_accuracy=torch.cat(right).float().mean())
dist.destroy_process_group()
