"""A start of a run: from the newest checkpoint to the files of the results."""

from typing import Any

from . import elastic, files, ranks, watchdog
from .checkpoint_writer import CheckpointWriter
from .distributed import on_rank_zero, say
from .loop import Loop
from .rank_checkpoint import another_program, resume
from .run_lock import locked
from .stop_request import StopRequest
from .task import Task


def complete(task: Task, stop: StopRequest, check_hosts: elastic.CheckHosts, began: float) -> None:
    """Train from the newest checkpoint to the files of the results, with the current ranks.

    Args:
        task: Task of the current ranks.
        stop: The stop request of this rank.
        check_hosts: Called after each checkpoint.
        began: When this start began, on `time.monotonic`.

    Raises:
        Stopped: A rank got a stop request, and the state is saved.
        UserError: The run cannot begin, or has diverged.
    """
    output = task.plan.output
    # Rank zero alone writes, so it alone must be able to; all ranks learn of it if it cannot.
    on_rank_zero(lambda: files.make_writable(output))
    with locked(output), CheckpointWriter(output, keep=task.plan.keep_checkpoints) as writer:
        for sentence in task.sentences:
            say(sentence)
        written = resume(
            output,
            task.variables,
            task.settings,
            per_rank=task.statistics,
            # The names that each program writes, and reads again.
            names=("position", "results", "epoch_losses", *task.names),
        )
        if written:
            task.resume(written)
        loop = Loop(task, stop, writer, written, began)
        _say_where(loop, task, written)
        outcome = loop.train(check_hosts)
        watchdog.progress()
        writer.wait()
        # Rank zero alone writes. A finished run writes its results again, in case a file was damaged.
        on_rank_zero(lambda: _write(task, outcome))


def _say_where(loop: Loop, task: Task, written: dict[str, Any]) -> None:
    position = loop.position
    if position.epoch == task.plan.epochs:
        if not isinstance(loop.outcome.get(task.score), int | float):
            raise another_program(task.plan.output)
        score = f"{task.score.replace('_', ' ')} {loop.outcome[task.score]:.4f}"
        say(f"nothing to do: {task.plan.output} holds this run, finished, with {score}")
    elif written:
        say(
            f"resuming after step {position.step}, {position.images} images into epoch {position.epoch + 1}: "
            f"written by {written['world_size']} ranks, now {ranks.size()}"
        )


def _write(task: Task, outcome: dict[str, Any]) -> None:
    output = task.plan.output
    try:
        task.export()
        files.write_json(output / "results.json", outcome)
    except OSError as error:
        raise files.unwritable(output, error) from error
    print(files.results_line(_brief(outcome, task.score)), flush=True)


def _brief(outcome: dict[str, Any], score: str) -> dict[str, Any]:
    """Return the results that a log needs: people read it, and mpirun cuts a line of some thousand letters."""
    brief = {name: outcome[name] for name in (score, *files.REPORTED) if name in outcome}
    waits = outcome.get("data_wait_share_per_rank")
    return brief | ({"data_wait_share": max(waits)} if waits else {})
