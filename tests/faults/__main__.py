"""Disturb runs in many ways, each to its end, and compare them with the undisturbed one: `make test-faults`.

No run may be lost or hang. Where a life fails, all its faults count as lost or hung, because none of them is proven.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.faults import disks
from tests.faults.launched import Hung, Launched, Lost
from tests.faults.life import End, Fault, Life, Site
from tests.faults.plans import Plan, plans

_AT_LEAST = 50
_SEED = 5
_SHOWN_LINES = 25


@dataclass(kw_only=True, slots=True)
class Injected:
    """A fault that has happened."""

    kind: str
    seconds: float = 0.0
    """Until the end of the disturbed run."""
    outcome: str = "recovered"
    """Or "lost" or "hung"."""


class Session:
    """All lives, one after the other.

    Attributes:
        injected: The faults so far.
        failed: Whether anything was lost or hung.
    """

    def __init__(self, site: Site) -> None:
        self.injected: list[Injected] = []
        self.failed = False
        self._site = site
        self._undisturbed: dict[tuple[Fault, ...], End] = {}

    def live(self, plan: Plan) -> None:
        """Run one life, and remove its folder unless it fails."""
        print(f"\n==> {plan.name}", flush=True)
        first = len(self.injected)
        life = Life(plan.name, self._site, plan.options)
        try:
            if plan.compared:
                life.undisturbed = self._undisturbed_like(plan)
            with plan.place(life):
                for fault in [*plan.lasting, *plan.faults]:
                    self._inject(fault, life)
                with _timed("the end"):
                    plan.finish(life)
        except (Lost, Hung) as failure:
            self.failed = True
            for each in self.injected[first:]:
                each.outcome = type(failure).__name__.lower()
            _report(failure, life)
        else:
            shutil.rmtree(life.folder)

    def _inject(self, fault: Fault, life: Life) -> None:
        self.injected.append(Injected(kind=fault.kind))
        started = time.monotonic()
        with _timed(f"{len(self.injected):3} {fault.kind}: {fault.what}"):
            fault.inject(life)
        self.injected[-1].seconds = time.monotonic() - started

    def _undisturbed_like(self, plan: Plan) -> End:
        """Run the same without faults except the lasting ones: once for all lives."""
        key = tuple(plan.lasting)
        if key not in self._undisturbed:
            life = Life(f"{plan.name}-undisturbed", self._site, plan.options)
            for fault in plan.lasting:
                fault.inject(life)
            with _timed("undisturbed"):
                self._undisturbed[key] = life.finish()
        return self._undisturbed[key]


@contextmanager
def _timed(what: str) -> Iterator[None]:
    print(f"{what} … ", end="", flush=True)
    started = time.monotonic()
    yield
    print(f"{time.monotonic() - started:.1f} s", flush=True)


def _report(failure: Exception, life: Life) -> None:
    print(f"\n{type(failure).__name__.upper()}: {failure}\nkept: {life.folder}")
    if life.starts:
        print("the last lines of its stderr:")
        print("\n".join(f"  | {line}" for line in life.starts[-1].stderr.splitlines()[-_SHOWN_LINES:]), flush=True)


def _make_data(site: Site) -> None:
    program = [sys.executable, "-m", "training.imagenet.digit_shards"]
    arguments = ["--output-dir", str(site.data), "--image-size", "32", "--train-shards", "4"]
    made = Launched([*program, *arguments], site.folder / "digits", site.variables)
    try:
        code = made.end()
    finally:
        made.kill()
    if code != 0:
        raise SystemExit(made.stderr)


def _table(injected: Sequence[Injected]) -> str:
    """Return a line for each kind of fault, and one for all."""
    words = ("recovered", "lost", "hung")
    lines = [f"{'fault':24} {'injected':>9} {'recovered':>9} {'lost':>9} {'hung':>9} {'seconds':>9}"]
    for kind in [*dict.fromkeys(each.kind for each in injected), None]:
        own = [each for each in injected if kind in (each.kind, None)]
        counts = [sum(each.outcome == word for each in own) for word in words]
        numbers = " ".join(f"{number:>9}" for number in [len(own), *counts])
        lines.append(f"{kind or 'all':24} {numbers} {sum(each.seconds for each in own):>9.0f}")
    return "\n".join(lines)


def main() -> int:
    """Return 1 unless all faults recovered and, where no lives are chosen, there were enough of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lives", nargs="*", help="names, or beginnings of names, of the lives to run (all)")
    parser.add_argument(
        "--seed", type=int, default=_SEED, help="of the times of the faults and their ranks (%(default)s)"
    )
    given = parser.parse_args()
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    may_mount = disks.can_mount(folder / "mount")
    if not may_mount:
        print("this user may not mount: no disk will be full or read-only, only the size of files limited")
    chosen = [
        plan
        for plan in plans(Random(given.seed), may_mount)
        if not given.lives or plan.name.startswith(tuple(given.lives))
    ]
    site = Site(folder=folder, data=folder / "data")
    with _timed(f"the digits, and TensorFlow's bytecode, into {folder}"):
        _make_data(site)
    session = Session(site)
    for plan in chosen:
        session.live(plan)
    recovered = sum(each.outcome == "recovered" for each in session.injected)
    print(f"\n{_table(session.injected)}\n\n{recovered} faults recovered in {time.monotonic() - started:.0f} s")
    if session.failed:
        return 1
    shutil.rmtree(folder)
    return 0 if given.lives or recovered >= _AT_LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
