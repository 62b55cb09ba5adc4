"""Train with weights and optimizer that are sharded over the ranks."""

import time

import torch
import torch.distributed as dist
from exact_resume.torch import ResumableRun
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    points = torch.randn(1024, 32)
    dataset = torch.utils.data.TensorDataset(points, (points.sum(1) > 0).long())
    blocks = [nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.1)) for _ in range(3)]
    model = nn.Sequential(*blocks, nn.Linear(32, 2))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    run = ResumableRun("out", model=model, optimizer=optimizer, seed=1, checkpoint_every="10steps")
    loader = run.loader(dataset, batch_size=16)
    for epoch in run.epochs(4):
        for inputs, classes in run.batches(loader):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), classes)
            loss.backward()
            optimizer.step()
            # As long as a step of a larger network.
            time.sleep(0.02)
            if dist.get_rank() == 0:
                print(f"epoch {epoch + 1}, step {run.step}: loss {loss.item():.6f}", flush=True)
    weights = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        torch.save(weights, "out/model.pt")
    dist.destroy_process_group()


main()
