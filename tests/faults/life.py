"""The life of a run: it is started, disturbed, restarted by the same command, and ends."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.disturbed_programs import CHECKPOINT_STEPS, RESNET50, Program
from tests.faults.launched import Launched, Lost
from tests.faults.processes import FORK_CLIENT
from tests.training.mpirun import mpirun_variables
from training.runtime import checkpoint

# Of ResNet-50: of 1,437 images, 64 a step, 22 steps an epoch.
EPOCHS, STEPS = RESNET50.epochs, 66

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """What all lives have in common."""

    folder: Path
    """Folder of this session."""
    is_compiled: bool
    """Whether setup has compiled the framework's modules."""

    def data(self, program: Program) -> Path:
        """The undamaged shards of a program."""
        return self.folder / program.data

    @property
    def program(self) -> Path:
        """A copy of the program: a change of the original within the hours of a session must not reach it."""
        return self.folder / "program"

    @property
    def fork_server(self) -> Path:
        """The socket of the process that forks ranks."""
        return self.folder / "ranks"

    @property
    def variables(self) -> dict[str, str]:
        # Not beside TensorFlow's modules, which may be read-only.
        bytecode = {} if self.is_compiled else {"PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        return {**bytecode, "FAULTS_PAUSE": "0.05"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Something that happens to a run."""

    kind: str
    """One word for all faults of the same kind."""
    what: str
    """This fault."""
    inject: Callable[["Life"], None]
    """Start the run if necessary, do it, and wait for the run's end; raises Lost or Hung."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """The result of a life."""

    losses: dict[int, str]
    """Loss of each step of the last start, as printed."""
    state: checkpoint.Checkpoint
    """The newest checkpoint."""
    results: dict[str, Any]
    """The content of results.json."""


class Life:
    """One output folder and all starts that resume in it.

    Attributes:
        folder: Folder of this life.
        data: Its own copy of the shards.
        program: What is trained.
        output: Given as '--output-dir'.
        starts: All starts, in order.
        undisturbed: The result of the same run without faults, where it is compared.
        promised: The step after which it must resume at least: that of the last checkpoint that the test knows.
        warnings: Texts that the next start must print on stderr.
        named: Texts that any start must have printed by the end of the life.
    """

    def __init__(self, name: str, site: Site, options: Sequence[str] = (), program: Program = RESNET50) -> None:
        """Create its folder; the options are added to the usual ones."""
        self.folder = site.folder / name
        self.data, self.output = self.folder / "data", self.folder / "output"
        self.output.mkdir(parents=True)
        shutil.copytree(site.data(program), self.data)
        self.starts: list[Launched] = []
        self.promised = 0
        self.warnings: list[str] = []
        self.named: list[str] = []
        self.site = site
        self.undisturbed: End | None = None
        self.program = program
        self._options = options

    def arguments(self, forked: bool = True) -> list[str]:
        """Return the words that follow `python`: the program, or a client that has it forked, and its options."""
        program = ["-m", self.program.launcher.rank]
        if forked:
            program = ["-I", "-S", FORK_CLIENT, str(self.site.fork_server)]
        folders = ["--data-dir", str(self.data), "--output-dir", str(self.output)]
        return [*program, *folders, *self.program.options, *self._options]

    @property
    def variables(self) -> dict[str, str]:
        mpirun = mpirun_variables(self.folder / "mpi")
        return {**self.site.variables, **mpirun, "FAULTS_PROGRAM": self.program.name}

    @property
    def checkpoints(self) -> Path:
        return self.output / "checkpoints"

    @property
    def saved(self) -> int:
        """The step of the newest undamaged checkpoint."""
        for path in sorted(self.checkpoints.glob("step-*.checkpoint"), reverse=True):
            with suppress(checkpoint.DamagedError):
                return checkpoint.read(path).step
        return 0

    @contextmanager
    def run(
        self, variables: Mapping[str, str] = _NOTHING, *, ranks: int = 2, forked: bool = True
    ) -> Iterator[Launched]:
        """Start the program; at the end of the block wait for its end and check where it resumed, and how."""
        saved = self.saved
        started = self.launch(f"start-{len(self.starts) + 1}", variables, ranks=ranks, forked=forked)
        self.starts.append(started)
        try:
            yield started
            started.end()
            self.check(started, saved)
        finally:
            started.kill()

    def launch(
        self, name: str, variables: Mapping[str, str] = _NOTHING, *, ranks: int = 2, forked: bool = True
    ) -> Launched:
        """Start the program and return at once; the caller must end it and check it."""
        command = [*self.program.launcher.command(ranks), *self.arguments(forked)]
        return Launched(command, self.folder / name, self.site.program, {**self.variables, **variables})

    def check(self, run: Launched, saved: int) -> None:
        """Check where an ended run resumed, and how; `saved` is the step of the newest checkpoint before it."""
        if run.resumed_at is None:
            return
        expect(run.resumed_at == saved, f"the newest checkpoint was of step {saved}, it resumed after {run.resumed_at}")
        expect(saved >= self.promised, f"the checkpoint of step {self.promised} is lost, it resumed after step {saved}")
        for warning in self.warnings:
            expect(warning in run.stderr, f"it did not print: {warning}")
        self.warnings = []
        if self.undisturbed:
            wrong = [step for step, loss in run.losses.items() if loss != self.undisturbed.losses[step]]
            expect(not wrong, f"the loss is another than that of the undisturbed run, first in step {wrong[:1]}")
        if "--checkpoint-every" in self._options:
            # Minutes: which steps are saved is not known.
            return
        last = max(run.losses, default=0)
        # The newest checkpoint may still have been in the thread that writes.
        self.promised = max(self.promised, last - last % CHECKPOINT_STEPS - CHECKPOINT_STEPS)

    def finish(self, variables: Mapping[str, str] = _NOTHING, *, forked: bool = True) -> End:
        """Start the program for the last time and return its result."""
        with self.run(variables, forked=forked) as run:
            code = run.end()
            expect(code == 0, f"the last start ended with code {code}")
        return self.end()

    def end(self) -> End:
        """Return the result of a finished run."""
        printed = "".join(start.stdout + start.stderr for start in self.starts)
        for words in self.named:
            expect(words in printed, f"no start printed: {words}")
        state = checkpoint.newest(self.checkpoints)
        if state is None:
            raise Lost("there is no checkpoint in the end")
        results = json.loads((self.output / "results.json").read_text())
        return End(losses=self.starts[-1].losses, state=state, results=results)

    def finish_as_undisturbed(self) -> None:
        """Finish, and compare the result with that of the undisturbed run, to the last bit."""
        end, other = self.finish(), self.undisturbed
        assert other is not None, "a compared life has an undisturbed run"
        for name in self.program.results:
            expect(end.results[name] == other.results[name], f"{name} {end.results[name]}, not {other.results[name]}")
        expect(end.state.metadata["position"] == other.state.metadata["position"], "it ended in another position")
        pairs = list(zip(end.state.arrays, other.state.arrays, strict=True))
        differ = sum(own.dtype != others.dtype or own.tobytes() != others.tobytes() for own, others in pairs)
        expect(differ == 0, f"{differ} of {len(pairs)} arrays of the last checkpoint differ from the undisturbed run's")


def expect(true: bool, otherwise: str) -> None:
    """Raise Lost where a condition is false."""
    if not true:
        raise Lost(otherwise)
