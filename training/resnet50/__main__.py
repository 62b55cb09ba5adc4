"""Train ResNet-50: mpirun -np 8 python -m training.resnet50 --data-dir /fsx/data/imagenet --output-dir /fsx/runs/a."""

import sys

import horovod.tensorflow as hvd

from training.resnet50.position import Position
from training.resnet50.settings import parse
from training.resnet50.trainer import Trainer
from training.resnet50.training_job import BEFORE_OPTIONS, Job, make_job, prepare
from training.runtime import curve, elastic, files, watchdog
from training.runtime.checkpoint_writer import CheckpointWriter
from training.runtime.distributed import on_rank_zero, run, say
from training.runtime.rank_checkpoint import resume
from training.runtime.run_lock import locked
from training.runtime.stop_request import StopRequest


def complete(job: Job, stop: StopRequest, check_hosts: elastic.CheckHosts) -> None:
    """Train from the newest checkpoint to results.json and model.keras."""
    output = job.settings.output_dir
    # Horovod: rank zero alone writes, so it alone must be able to; all ranks learn of it if it cannot.
    on_rank_zero(lambda: files.make_writable(output))
    with locked(output), CheckpointWriter(output, keep=job.settings.keep_checkpoints) as writer:
        outcome = _train(job, stop, writer, check_hosts)
        # Horovod: rank zero alone writes. A finished run writes its results again, in case a file was damaged.
        on_rank_zero(lambda: write(job, outcome))


def _train(job: Job, stop: StopRequest, writer: CheckpointWriter, check_hosts: elastic.CheckHosts) -> dict[str, object]:
    """Train from the newest checkpoint to the end, and return the content of results.json."""
    output = job.settings.output_dir
    for sentence in job.sentences():
        say(sentence)

    written = resume(
        output,
        job.network.variables,
        job.resume_settings,
        per_rank=job.network.statistics,
        defaults=BEFORE_OPTIONS,
        names=("position", "skipped", "training_images"),
    )
    position = Position.from_json(written["position"]) if written else Position()
    if written:
        job.data.resume(output, written)
    trainer = Trainer(job, stop, writer, position, written)
    if position.epoch == job.settings.epochs:
        say(f"nothing to do: {output} holds this run, finished, with accuracy {trainer.outcome['accuracy']:.4f}")
    elif written:
        say(
            f"resuming after step {position.step}, {position.images} images into epoch {position.epoch + 1}: "
            f"written by {written['world_size']} ranks, now {hvd.size()}"
        )
    outcome = trainer.train(check_hosts)
    watchdog.progress()
    writer.wait()
    return outcome


def write(job: Job, outcome: dict[str, object]) -> None:
    """Write the results and the model."""
    output = job.settings.output_dir
    try:
        temporary = output / ".model.keras"
        job.network.model.save(temporary, save_format="keras")
        temporary.replace(output / "model.keras")
        files.write_json(output / "results.json", outcome)
    except OSError as error:
        raise files.unwritable(output, error) from error


def main() -> None:
    """Run from the command line to the results, with the current ranks."""
    stop = StopRequest()
    settings, device, network = prepare(parse())

    def program(check_hosts: elastic.CheckHosts) -> None:
        watchdog.progress()
        try:
            complete(make_job(settings, device, network), stop, check_hosts)
        finally:
            # What follows may wait longer, such as for other workers.
            watchdog.finished()

    elastic.run(program, [*network.variables, *network.statistics])
    curve.draw(settings.output_dir)


if __name__ == "__main__":
    # Before Horovod starts, which takes the same limit.
    watchdog.limit()
    # Horovod: find the other ranks; without mpirun this one is alone.
    hvd.init()
    sys.exit(run(main))
