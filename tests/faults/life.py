"""The life of a run: it is started, disturbed, started again by the same command, and at last ends."""

import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.launched import Launched, Lost, mpirun
from training.runtime import checkpoint

CHECKPOINT_STEPS = 4
# Of 1,437 images, 64 a step: 22 steps an epoch.
EPOCHS, STEPS = 3, 66

_OPTIONS = ["--classes", "10", "--image-size", "32", "--batch-size", "32", "--epochs", str(EPOCHS), "--deterministic"]
_OPTIONS += ["--learning-rate", "0.1", "--warmup-epochs", "0", "--checkpoint-steps", str(CHECKPOINT_STEPS)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """What all lives have in common."""

    folder: Path
    """Of this session."""
    data: Path
    """The digits as shards, whole."""

    @property
    def variables(self) -> dict[str, str]:
        # Not beside TensorFlow's modules: these may belong to somebody else.
        return {"PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"), "FAULTS_PAUSE": "0.05"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Something that happens to a run."""

    kind: str
    """Of which there are several."""
    what: str
    """This one."""
    inject: Callable[["Life"], None]
    """Starts the run if need be, does it, and waits for the run's end; raises Lost or Hung."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """What is left of a life that has come to its end."""

    losses: dict[int, str]
    """Of each step of the last start, as printed."""
    state: checkpoint.Checkpoint
    """The newest checkpoint."""
    results: dict[str, Any]
    """The content of results.json."""


class Life:
    """One output folder and all starts that go on in it.

    Attributes:
        folder: Of this life.
        data: Its own copy of the shards.
        output: Given as '--output-dir'.
        starts: What was started, in order.
        undisturbed: What the same run left without faults, where it is compared.
        promised: The step after which it must go on at least: that of the last checkpoint that is known of.
        warnings: What the next start must say on stderr.
        named: What must have been said, on either, when the life is at its end.
    """

    def __init__(self, name: str, site: Site, options: Sequence[str] = ()) -> None:
        """Makes a folder of this name for it; the options are those besides the usual ones."""
        self.folder = site.folder / name
        self.data, self.output = self.folder / "data", self.folder / "output"
        self.output.mkdir(parents=True)
        shutil.copytree(site.data, self.data)
        self.starts: list[Launched] = []
        self.promised = 0
        self.warnings: list[str] = []
        self.named: list[str] = []
        self.site = site
        self.undisturbed: End | None = None
        self._options = options

    @property
    def arguments(self) -> list[str]:
        """The program and its options."""
        folders = ["--data-dir", str(self.data), "--output-dir", str(self.output)]
        return ["-m", "tests.faults.rank", *folders, *_OPTIONS, *self._options]

    @property
    def checkpoints(self) -> Path:
        return self.output / "checkpoints"

    @property
    def saved(self) -> int:
        """The step of the newest checkpoint that is whole."""
        # The program itself must warn, in its own stderr.
        with redirect_stderr(io.StringIO()):
            newest = checkpoint.newest(self.checkpoints)
        return newest.step if newest else 0

    @contextmanager
    def run(self, ranks: int = 2, **variables: str) -> Iterator[Launched]:
        """Starts the program; at the end of the block waits for its end and checks where it went on, and how."""
        saved = self.saved
        folder = self.folder / f"start-{len(self.starts) + 1}"
        started = Launched([*mpirun(ranks), *self.arguments], folder, self.site.variables | variables)
        self.starts.append(started)
        try:
            yield started
            started.end()
            self._check(started, saved)
        finally:
            started.kill()

    def _check(self, run: Launched, saved: int) -> None:
        if run.resumed_at is None:
            return
        expect(run.resumed_at == saved, f"the newest checkpoint was of step {saved}, it went on after {run.resumed_at}")
        expect(saved >= self.promised, f"the checkpoint of step {self.promised} is lost, it went on after step {saved}")
        for warning in self.warnings:
            expect(warning in run.stderr, f"it did not say: {warning}")
        self.warnings = []
        if self.undisturbed:
            wrong = [step for step, loss in run.losses.items() if loss != self.undisturbed.losses[step]]
            expect(not wrong, f"the loss is another than that of the undisturbed run, first in step {wrong[:1]}")
        last = max(run.losses, default=0)
        self.promised = max(self.promised, last - last % CHECKPOINT_STEPS)

    def finish(self, **variables: str) -> End:
        """Starts the program for the last time and returns what it leaves."""
        with self.run(**variables) as run:
            code = run.end()
            expect(code == 0, f"the last start ended with code {code}")
        return self.end()

    def end(self) -> End:
        """Returns what a run that has finished has left."""
        said = "".join(start.stdout + start.stderr for start in self.starts)
        for words in self.named:
            expect(words in said, f"no start said: {words}")
        state = checkpoint.newest(self.checkpoints)
        expect(state is not None, "there is no checkpoint in the end")
        results = json.loads((self.output / "results.json").read_text())
        return End(losses=self.starts[-1].losses, state=state, results=results)

    def finish_as_undisturbed(self) -> None:
        """Finishes, and compares the end with that of the undisturbed run, to the last bit."""
        end, other = self.finish(), self.undisturbed
        for name in ("accuracy", "top5_accuracy", "evaluated_images", "steps", "epochs", "bad_records"):
            expect(end.results[name] == other.results[name], f"{name} {end.results[name]}, not {other.results[name]}")
        expect(end.state.metadata["position"] == other.state.metadata["position"], "it ended in another position")
        pairs = list(zip(end.state.arrays, other.state.arrays, strict=True))
        differ = sum(own.dtype != others.dtype or own.tobytes() != others.tobytes() for own, others in pairs)
        expect(differ == 0, f"{differ} of {len(pairs)} arrays of the last checkpoint differ from the undisturbed run's")


def expect(true: bool, otherwise: str) -> None:
    """Raises Lost where something is not as it must be."""
    if not true:
        raise Lost(otherwise)
