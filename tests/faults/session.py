"""All lives of a call, some of them at a time, and the table of what became of their faults."""

import itertools
import shutil
import subprocess
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock

from tests.faults.launched import Hung, Lost
from tests.faults.life import End, Fault, Life, Site
from tests.faults.plans import Plan, Suite
from tests.faults.processes import kill, marked_below

#: Lives at a time. Two or three of them keep two cores busy while others only wait, such as for the watchdog.
AT_A_TIME = 4

_SECONDS_BETWEEN_TABLES = 180
_SHOWN_LINES = 25


@dataclass(kw_only=True, slots=True)
class Injected:
    """A fault that has happened."""

    kind: str
    seconds: float = 0.0
    """Until the end of the disturbed run."""
    outcome: str = "open"
    """Until its life has ended: then "recovered", "lost" or "hung"."""


class Session:
    """All lives.

    Attributes:
        injected: The faults so far.
        failures: A sentence for each life in which something was lost or hung.
    """

    def __init__(self, site: Site, suite: Suite, seed: int) -> None:
        self.injected: list[Injected] = []
        self.failures: list[str] = []
        self._site, self._target, self._seed = site, suite.target, seed
        self._started = time.monotonic()
        self._undisturbed: dict[tuple[object, ...], Future[End]] = {}
        self._undisturbed_lock = Lock()
        self._interrupted = False

    def live(self, plans: Sequence[Plan], fork_server: "subprocess.Popen[bytes]") -> None:
        """Live all lives to their ends, and print a table every few minutes.

        Raises:
            SystemExit: The fork server has ended, so that no start can succeed.
        """
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            lives = [pool.submit(self._live, plan) for plan in plans]
            try:
                for waited in itertools.count(1):
                    if not wait(lives, timeout=1).not_done:
                        break
                    if fork_server.poll() is not None:
                        raise SystemExit(f"the fork server ended with code {fork_server.returncode}")
                    if waited % _SECONDS_BETWEEN_TABLES == 0:
                        print(f"\n{self.table()}\nafter {self.seconds:.0f} s\n", flush=True)
            except (KeyboardInterrupt, SystemExit):
                self._interrupt(lives)
                raise
        for life in lives:
            life.result()

    @property
    def seconds(self) -> float:
        """Since its begin."""
        return time.monotonic() - self._started

    def table(self) -> str:
        """Return a line for each kind of fault, and one for all."""
        injected = list(self.injected)
        words = ("recovered", "lost", "hung")
        lines = [f"{'fault':28} {'injected':>9} {'recovered':>9} {'lost':>9} {'hung':>9} {'seconds':>9}"]
        for kind in [*sorted({each.kind for each in injected}), None]:
            own = [each for each in injected if kind in (each.kind, None)]
            counts = [sum(each.outcome == word for each in own) for word in words]
            numbers = " ".join(f"{number:>9}" for number in [len(own), *counts])
            lines.append(f"{kind or 'all':28} {numbers} {sum(each.seconds for each in own):>9.0f}")
        return "\n".join(lines)

    def _live(self, plan: Plan) -> None:
        """Live one life, and remove its folder unless it fails."""
        own: list[Injected] = []
        life = Life(plan.name, self._site, plan.options, plan.program)
        try:
            if plan.compared:
                life.undisturbed = self._undisturbed_like(plan)
            with plan.place(life):
                for fault in [*plan.lasting, *plan.faults]:
                    self._inject(fault, life, own)
                started = time.monotonic()
                plan.finish(life)
                _say(plan.name, "the end", started)
        # A bug of the suite must not end the other lives, either.
        except Exception as failure:
            outcome = "hung" if isinstance(failure, Hung) else "lost"
            self._report(outcome, failure, life)
        else:
            outcome = "recovered"
            shutil.rmtree(life.folder)
        for each in own:
            each.outcome = outcome

    def _inject(self, fault: Fault, life: Life, own: list[Injected]) -> None:
        if self._interrupted:
            raise Lost("interrupted")
        started = time.monotonic()
        injected = Injected(kind=fault.kind)
        own.append(injected)
        self.injected.append(injected)
        fault.inject(life)
        injected.seconds = time.monotonic() - started
        _say(life.folder.name, f"{fault.kind}: {fault.what}", started)

    def _undisturbed_like(self, plan: Plan) -> End:
        """Run the same without faults except the lasting ones, once for all lives, and without the fork server."""
        key = (plan.program.name, *plan.lasting, *plan.options)
        with self._undisturbed_lock:
            is_first = key not in self._undisturbed
            end = self._undisturbed.setdefault(key, Future())
        if is_first:
            try:
                end.set_result(self._run_undisturbed(plan))
            except Exception as failure:
                end.set_exception(failure)
        return end.result()

    def _run_undisturbed(self, plan: Plan) -> End:
        started = time.monotonic()
        life = Life(f"{plan.name}-undisturbed", self._site, plan.options, plan.program)
        for fault in plan.lasting:
            fault.inject(life)
        end = life.finish(forked=False)
        _say(plan.name, "undisturbed", started)
        return end

    def _report(self, outcome: str, failure: Exception, life: Life) -> None:
        if self._interrupted:
            return
        name = life.folder.name
        again = f"make {self._target} SEED={self._seed} LIVES={name}"
        self.failures.append(f"{outcome}: {name}: {failure}\n  again: {again}\n  kept: {life.folder}")
        lines = [] if isinstance(failure, Lost | Hung) else traceback.format_exception(failure)
        if life.starts:
            lines += ["the last lines of its stderr:", *life.starts[-1].stderr.splitlines()[-_SHOWN_LINES:]]
        print("\n".join([self.failures[-1], *(f"  | {line.rstrip()}" for line in lines)]), flush=True)

    def _interrupt(self, lives: Sequence[Future[None]]) -> None:
        """End all processes, and so the lives that wait for them."""
        self._interrupted = True
        for life in lives:
            life.cancel()
        while wait(lives, timeout=1).not_done:
            kill(marked_below(self._site.folder))


def _say(life: str, what: str, started: float) -> None:
    print(f"{life:12} {what}, {time.monotonic() - started:.1f} s", flush=True)
