import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
points = torch.randn(4096, 32)
classes = (points.sum(1) > 0).long()

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * size, momentum=0.9)
start = 0
try:
    saved = torch.load("checkpoint.pt")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    start = saved["epoch"]
except FileNotFoundError:
    pass
average = DistributedDataParallel(model)

for epoch in range(start, 10):
    order = torch.randperm(len(points), generator=torch.Generator().manual_seed(epoch))
    for own in order[rank::size].split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(average(points[own]), classes[own])
        loss.backward()
        optimizer.step()
    if rank == 0:
        print(f"epoch {epoch + 1}: loss {loss.item():.6f}", flush=True)
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}, "checkpoint.pt"
        )
dist.destroy_process_group()
