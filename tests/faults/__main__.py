"""Disturb runs in many ways, each to its end, and compare them with the undisturbed one.

`make test-long SUITE=faults` is of the programs on TensorFlow, `make test-long SUITE=torch-faults` of that on PyTorch.

No run may be lost or hang. If a life fails, all its faults count as lost or hung, because none of them is proven.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults import disks, plans
from tests.faults.disturbed_programs import MASK_RCNN, RESNET50
from tests.faults.launched import ENVIRONMENT, Launched
from tests.faults.life import Site
from tests.faults.plans import Suite
from tests.faults.processes import MARK
from tests.faults.session import Session
from tests.training.mpirun import ROOT

_SEED = 5


_PROGRAM = ("training", "tests/faults", "tests/training/mpirun.py")


def _copy_program(site: Site) -> None:
    for name in _PROGRAM:
        target = site.program / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target)
        else:
            shutil.copy(ROOT / name, target)


def _make_data(site: Site, suite: Suite) -> None:
    """Write the digits and the shapes as shards, and with them TensorFlow's bytecode."""
    digits = ["--image-size", "32", "--train-shards", "4"]
    _run(site, "training.imagenet.digit_shards", "--output-dir", str(site.data(RESNET50)), *digits)
    if MASK_RCNN not in suite.programs:
        return
    drawn = str(site.folder / "drawn")
    _run(site, "training.coco.shapes", "--output-dir", drawn, "--images", "48")
    shards = ["--train-shards", "2", "--validation-shards", "1"]
    _run(site, "training.coco.convert", "--source", drawn, "--output-dir", str(site.data(MASK_RCNN)), *shards)


def _run(site: Site, module: str, *arguments: str) -> None:
    # TensorFlow's, which .venv-torch has not.
    python = str(ROOT / ".venv-training/bin/python")
    made = Launched([python, "-m", module, *arguments], site.folder / module, site.program, site.variables)
    try:
        code = made.end()
    finally:
        made.kill()
    if code != 0:
        raise SystemExit(made.stderr)


@contextmanager
def _fork_server(site: Site, suite: Suite) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the process that forks ranks, and end it by closing its input."""
    variables = os.environ | ENVIRONMENT | site.variables | {MARK: str(site.folder / "fork-server")}
    # NumPy's threads would be lost in a fork.
    variables |= {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.faults.fork_server", str(site.fork_server), suite.programs[0].launcher.rank]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=site.program, env=variables, start_new_session=True
    ) as server:
        while not site.fork_server.exists():
            if server.poll() is not None:
                raise SystemExit(f"the fork server ended with code {server.returncode}")
            time.sleep(0.1)
        yield server


def _cpu_seconds() -> float:
    """Return the CPU time of all ended processes, orphans apart."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "lives", nargs="*", help="lives to run, such as killed-17, or kinds of them, such as killed (each kind)"
    )
    parser.add_argument("--torch", action="store_true", help="of PyTorch's program, not of TensorFlow's")
    parser.add_argument("--seed", type=int, default=_SEED, help="decides when faults happen, and where (%(default)s)")
    parser.add_argument("--faults", type=int, help="inject at least so many, in the same mix (one round of lives)")
    given = parser.parse_args()
    if given.lives and given.faults is not None:
        parser.error("'--faults' and lives are both given; give one of them: '--faults' is of all kinds")
    return given


def main() -> int:
    """Return 1 unless all faults recovered and, where no lives are chosen, there were enough of them."""
    given = _parse()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    may_mount = disks.can_mount(folder / "mount")
    if not may_mount:
        print("this user may not mount: no disk will be full or read-only, only the size of files limited")
    suite = plans.TORCH if given.torch else plans.TENSORFLOW
    chosen = plans.choose(suite, given.seed, may_mount, lives=given.lives, faults=given.faults)
    total = sum(plan.injects for plan in chosen)
    print(f"seed {given.seed}: {total} faults in {len(chosen)} lives, in {folder}", flush=True)
    site = Site(folder=folder, is_compiled=given.torch)
    session = Session(site, suite, given.seed)
    _copy_program(site)
    _make_data(site, suite)
    try:
        with _fork_server(site, suite) as fork_server:
            session.live(chosen, fork_server)
    except KeyboardInterrupt:
        print(f"\ninterrupted; kept: {folder}")
        return 130
    recovered = sum(each.outcome == "recovered" for each in session.injected)
    print(f"\n{session.table()}\n", *session.failures, sep="\n")
    print(
        f"seed {given.seed}: {recovered} of {total} faults recovered in {session.seconds:.0f} s; a fault took "
        f"{session.seconds / total:.1f} s, and {_cpu_seconds() / total:.1f} s of CPU"
    )
    if session.failures:
        return 1
    shutil.rmtree(folder)
    return 0 if recovered == total else 1


if __name__ == "__main__":
    sys.exit(main())
