"""Ranks of an elastic run that are lost and restarted."""

import sys
from pathlib import Path

from tests.faults.disturbed_programs import CHECKPOINT_STEPS
from tests.faults.launched import Launched
from tests.faults.life import Fault, Life, expect

# Long steps, because the lost rank is restarted meanwhile.
_PAUSE = "0.3"


def lost_rank(number: int, step: int) -> Fault:
    """Kill one of two ranks: the other resumes alone, with the rate of one rank, until the lost one is restarted."""

    def inject(life: Life) -> None:
        run = _start(life)
        try:
            victim = run.rank(number)
            run.wait_for_step(step)
            victim.kill()
            run.wait_for("written by 2 ranks, now 1\n")
            run.wait_for(life.program.alone)
            run.wait_for("written by 1 ranks, now 2\n")
            expect((run.resumed_at or 0) >= step - step % CHECKPOINT_STEPS, f"it resumed after step {run.resumed_at}")
            code = run.end()
            expect(code == 0, f"horovodrun ended with code {code}")
        finally:
            run.kill()
        life.starts.append(run)

    return Fault(kind="elastic", what=f"kill -9 of rank {number} after step {step}", inject=inject)


def finish(life: Life) -> None:
    """Check the results of a run that has ended by itself."""
    results = life.end().results
    ended = (results["epochs"], results["world_size"])
    expect(ended == (life.program.epochs, 2), f"it ended after {ended[0]} epochs with {ended[1]} ranks")


def _start(life: Life) -> Launched:
    """Start a rank on each of two hosts: two names of this machine."""
    hosts = life.folder / "discover_hosts.sh"
    hosts.write_text("#!/bin/sh\necho localhost\necho 127.0.0.1\n")
    hosts.chmod(0o755)
    flags = ["-np", "2", "--min-np", "1", "--max-np", "2", "--slots-per-host", "1", "--network-interface", "lo"]
    flags += ["--host-discovery-script", f"sh {hosts}", "--gloo-timeout-seconds", "120"]
    # Horovod uses the host of the lost rank again after 10 seconds. If the other rank needs longer to give up its step,
    # Horovod 0.28 takes the lost one for alive, starts none, and waits for it for ever.
    flags += ["--blacklist-cooldown-range", "5", "10"]
    command = [str(Path(sys.executable).with_name("horovodrun")), *flags, sys.executable, *life.arguments()]
    return Launched(command, life.folder / "elastic", life.site.program, life.variables | {"FAULTS_PAUSE": _PAUSE})
