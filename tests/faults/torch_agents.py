"""What torchrun itself handles: a rank that it starts again, and the store of its rendezvous, which is lost."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.disturbed_programs import CHECKPOINT_STEPS, torchrun
from tests.faults.launched import Launched
from tests.faults.life import Fault, Life, expect
from tests.faults.processes import MARK
from tests.training.mpirun import free_ports
from tests.training.torch_imagenet.rendered_words import Words, rendered


def rank_started_again(number: int, step: int) -> Fault:
    """Kill a rank of a torchrun that may start its ranks again, and all of it later."""

    def inject(life: Life) -> None:
        saved = life.saved
        run = _launch(life, "again", torchrun(2, "--max-restarts=1"))
        try:
            victim = run.rank(number)
            run.wait_for_step(step)
            victim.kill()
            run.wait_for("resuming after step", 2 if saved else 1)
            run.wait_for_step(step + CHECKPOINT_STEPS)
        finally:
            run.kill()
        last = run.resumptions[-1]
        expect(last >= step - 2 * CHECKPOINT_STEPS, f"it was killed after step {step} and resumed after {last}")
        _check(life, run)

    return Fault(kind="torchrun starts again", what=f"kill -9 of rank {number} after step {step}", inject=inject)


def lost_store(step: int) -> Fault:
    """Kill the store: torchrun, started with the words of a TorchElasticJob, must end, and its ranks must save."""

    def inject(life: Life) -> None:
        port = free_ports(1)
        words = rendered("c10d", workers=1, min_workers=1, gpus=2, command=[sys.executable, *life.arguments()])
        with _store(life, words, port) as store:
            run = _launch(life, "store", words.agent_at(f"localhost:{port}"), words.environment)
            try:
                run.wait_for_step(step)
                store.kill()
                expect(run.end() != 0, "torchrun ended with code 0")
            finally:
                run.kill()
        last = max(run.losses)
        expect(life.saved == last, f"it ended after step {last}, but the newest checkpoint is of step {life.saved}")
        _check(life, run)

    return Fault(kind="lost store", what=f"kill -9 after step {step}", inject=inject)


def _launch(life: Life, name: str, command: list[str], variables: dict[str, str] | None = None) -> Launched:
    arguments = [] if variables else life.arguments()
    folder = life.folder / f"{name}-{len(life.starts) + 1}"
    run = Launched([*command, *arguments], folder, life.site.program, {**life.variables, **(variables or {})})
    life.starts.append(run)
    return run


def _check(life: Life, run: Launched) -> None:
    """Compare the losses, and remember what is saved: the killed start may have been writing."""
    assert life.undisturbed is not None, "the faults of torchrun are compared"
    wrong = [step for step, loss in run.losses.items() if loss != life.undisturbed.losses[step]]
    expect(not wrong, f"the loss is another than that of the undisturbed run, first in step {wrong[:1]}")
    life.promised = life.saved


@contextmanager
def _store(life: Life, words: Words, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the store on another port: there are other lives at the same time."""
    variables = os.environ | {MARK: str(life.folder / "store")}
    log = life.folder / f"store-{port}"
    with log.open("wb") as stream:
        store = subprocess.Popen(words.store_at(port), env=variables, stdout=stream, stderr=stream)
    try:
        while b"listens" not in log.read_bytes():
            expect(store.poll() is None, log.read_text())
            time.sleep(0.1)
        yield store
    finally:
        store.kill()
        store.wait()
