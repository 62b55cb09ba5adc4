import horovod.torch as hvd
import torch
from torch import nn

hvd.init()
torch.manual_seed(1)
points = torch.randn(4096, 32)
classes = (points.sum(1) > 0).long()

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size(), momentum=0.9)
start = 0
if hvd.rank() == 0:
    try:
        saved = torch.load("checkpoint.pt")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["epoch"]
    except FileNotFoundError:
        pass
start = hvd.broadcast_object(start, root_rank=0)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

for epoch in range(start, 10):
    order = torch.randperm(len(points), generator=torch.Generator().manual_seed(epoch))
    for own in order[hvd.rank() :: hvd.size()].split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points[own]), classes[own])
        loss.backward()
        optimizer.step()
    if hvd.rank() == 0:
        print(f"epoch {epoch + 1}: loss {loss.item():.6f}", flush=True)
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}, "checkpoint.pt"
        )
