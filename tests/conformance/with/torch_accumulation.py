"""Train with gradients of four batches, a scaler, and an average of the weights, on the ranks of torchrun."""

import time
from contextlib import nullcontext

import torch
import torch.distributed as dist
from exact_resume.torch import ResumableRun
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

ACCUMULATED = 4


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    points = torch.randn(1000, 32)
    dataset = torch.utils.data.TensorDataset(points, (points.sum(1) > 0).long())
    layers = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, 2))
    model, average = DistributedDataParallel(layers), AveragedModel(layers, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2, 3])
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=10)
    run = ResumableRun(
        "out",
        model=model,
        optimizer=optimizer,
        scheduler=scheduler,
        scaler=scaler,
        others={"average": average},
        seed=1,
        checkpoint_every="10steps",
    )
    loader = run.loader(dataset, batch_size=8)
    for epoch in run.epochs(4):
        for number, (inputs, classes) in run.enumerate(loader):
            is_last = (number + 1) % ACCUMULATED == 0
            with nullcontext() if is_last else model.no_sync():
                with torch.autocast("cpu", torch.bfloat16):
                    loss = nn.functional.cross_entropy(model(inputs), classes)
                scaler.scale(loss / ACCUMULATED).backward()
            if is_last:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
                average.update_parameters(layers)
                # As long as a step of a larger network.
                time.sleep(0.04)
                if dist.get_rank() == 0:
                    print(f"epoch {epoch + 1}, step {run.step}: loss {loss.item():.6f}", flush=True)
        scheduler.step()
    if dist.get_rank() == 0:
        torch.save({"model": layers.state_dict(), "average": average.state_dict()}, "out/model.pt")
    dist.destroy_process_group()


main()
