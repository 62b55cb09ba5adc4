import os

import torch
import torch.distributed as dist
from exact_resume.torch import ResumableRun
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset

dist.init_process_group()
rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")

torch.manual_seed(1)
points = torch.randn(4096, 32)
dataset = TensorDataset(points, (points.sum(1) > 0).long())

network = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2)).to(device)
model = DistributedDataParallel(network)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.002)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

run = ResumableRun("out", model=model, optimizer=optimizer, scheduler=scheduler, seed=1)
loader = run.loader(dataset, batch_size=32, num_workers=2)
for epoch in run.epochs(10):
    for points, classes in run.batches(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points.to(device)), classes.to(device))
        loss.backward()
        optimizer.step()
    scheduler.step()
    if dist.get_rank() == 0:
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}", flush=True)

if dist.get_rank() == 0:
    torch.save(network.state_dict(), "points.pt")
dist.destroy_process_group()
