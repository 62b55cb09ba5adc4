"""Train with PyTorch: torchrun --nproc-per-node 8 -m training.torch_imagenet --data-dir /data --output-dir /runs/a."""

import sys

from training.runtime import complete_run, curve, wall_clock, watchdog
from training.runtime.stop_request import StopRequest
from training.torch_imagenet import torch_devices, torch_ranks
from training.torch_imagenet.settings import parse
from training.torch_imagenet.training_job import make_job


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    began, stop = wall_clock.process_start(), StopRequest()
    given = parse()
    device = torch_devices.choose()
    task = make_job(given.on_device(gpu=device.type == "cuda"), device).task()
    watchdog.progress()
    try:
        with torch_devices.memory_reported(task.lower):
            complete_run.complete(task, stop, lambda: None, began)
    finally:
        watchdog.finished()
    curve.draw(task.plan.output)


if __name__ == "__main__":
    # torchrun's environment says where the other ranks are; without it this one is alone.
    sys.exit(torch_ranks.run(main))
