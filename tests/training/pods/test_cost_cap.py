import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.training.mpirun import PATIENCE, mpirun_variables
from tests.training.pods.conftest import Sshd
from training.pods.cost_cap import CostCap, WorkerCostFile, output_folder
from training.pods.job_end import JobEnd
from training.runtime.errors import UserError

pytestmark = pytest.mark.usefixtures("ssh")

# Without the pauses before restarts.
LAUNCHER = """
import sys
from training.pods import launcher
launcher._FIRST_PAUSE_SECONDS, launcher._SOON_SECONDS = 0.01, 0.0
sys.exit(launcher.main())
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(first: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return a function that runs a launch command of two workers, which cost a dollar a second each."""
    second = Sshd("127.0.0.2", first.port)
    (tmp_path / "hostfile").write_text("127.0.0.1 slots=1\n127.0.0.2 slots=1\n")
    for name, value in mpirun_variables(tmp_path / "mpi").items():
        monkeypatch.setenv(name, value)

    def run(most: float, *command: str, restarts: int = 1, script: str = LAUNCHER) -> subprocess.CompletedProcess[str]:
        options = ["--port", str(first.port), "--gate", "no", "--restarts", str(restarts)]
        options += ["--max-cost", str(most), "--usd-per-hour", "3600", str(tmp_path / "hostfile")]
        words = [sys.executable, "-c", script, *options, "--", *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)

    yield run
    second.close()


def dollars(folder: Path) -> float:
    return float(json.loads((folder / "cost.json").read_text())["usd"])


def forget(folder: Path) -> None:
    """Take new workers, as a job that is submitted again: these do not have the decision of the one before."""
    for decision in folder.glob("ssh/*/job-end"):
        decision.unlink()


# It saves at a stop request, as training programs do.
STOPPABLE = "trap 'echo saved; exit 75' TERM; while :; do sleep 0.05; done"


def test_a_job_gets_a_stop_request_at_its_cap_and_does_not_restart(run: Run, tmp_path: Path) -> None:
    done = run(3, "sh", "-c", STOPPABLE, "--output-dir", str(tmp_path / "run"), restarts=9)
    assert done.returncode == 75
    assert done.stdout.splitlines()[0] == "cost: $0.00 of $3.00, at $7,200.00 an hour"
    assert "stop request: sends SIGTERM to sh and waits for its ranks\nsaved\n" in done.stdout
    assert done.stdout.count("saved") == 1
    assert 3 <= dollars(tmp_path / "run") < 30
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: the run has cost $")
    assert last.endswith(
        ", and '--max-cost' is 3: the ranks ended with exit code 75; to resume it, submit it with a higher one"
    )


def test_earlier_starts_count(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/cost.json").write_text('{"usd": 499.5}\n')
    done = run(500, "sh", "-c", STOPPABLE, f"--output-dir={tmp_path / 'run'}")
    assert done.returncode == 75
    assert done.stdout.startswith("cost: $499.50 of $500.00, at ")
    assert 500 <= dollars(tmp_path / "run") < 530
    forget(tmp_path)
    done = run(500, "sh", "-c", "echo started", f"--output-dir={tmp_path / 'run'}")
    assert (done.returncode, "started" in done.stdout) == (75, False)
    assert "and '--max-cost' is 500; to resume it, submit it with a higher one" in done.stderr
    forget(tmp_path)
    done = run(900, "sh", "-c", "echo started", f"--output-dir={tmp_path / 'run'}")
    assert (done.returncode, "started" in done.stdout) == (0, True)


def test_starts_of_one_launcher_and_the_time_between_them_count(run: Run, tmp_path: Path) -> None:
    script = f"echo start >> {tmp_path}/starts; sleep 1; exit 1"
    done = run(3, "sh", "-c", script, "--output-dir", str(tmp_path / "run"), restarts=100)
    assert done.returncode == 75
    assert 1 < (tmp_path / "starts").read_text().count("start") < 10


def test_a_job_that_ends_below_its_cap_ends_as_without_one(run: Run, tmp_path: Path) -> None:
    done = run(1000, "true", "--output-dir", str(tmp_path / "run"))
    assert (done.returncode, done.stderr) == (0, "")
    assert 0 < dollars(tmp_path / "run") < 100


def test_without_an_output_folder_the_next_launcher_of_the_job_counts_on(run: Run, tmp_path: Path) -> None:
    assert run(1000, "true").returncode == 0
    spent = dollars(tmp_path / "ssh/127.0.0.1")
    assert run(1000, "true").returncode == 0
    assert dollars(tmp_path / "ssh/127.0.0.1") > spent > 0


@pytest.mark.parametrize("text", ["{", "[]", '{"usd": -1}', '{"usd": "NaN"}', '{"usd": null}'])
def test_a_file_that_does_not_say_the_cost_ends_the_job(text: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/cost.json").write_text(text)
    done = run(5, "true", "--output-dir", str(tmp_path / "run"))
    assert done.returncode == 1
    assert f"cost.json is {text!r}, which does not say what the run has cost; write " in done.stderr


def test_a_folder_that_cannot_be_written_is_a_warning(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run(1000, "true", "--output-dir", str(tmp_path / "file/run"))
    assert done.returncode == 0
    assert "/file/run/cost.json can be neither read nor written: mkdir: " in done.stderr


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "much"])
def test_rejects_a_cap_that_is_no_amount(value: str, run: Run) -> None:
    done = run(value, "true")
    assert done.returncode == 2
    assert f"'--max-cost' is {value}" in done.stderr.replace(f"'{value}'", value)


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (("python", "--output-dir", "/fsx/my run"), "/fsx/my run"),
        (("python", "--output-dir=/fsx/a", "b"), "/fsx/a"),
        (("python", "--output-dir"), None),
        (("python",), None),
    ],
)
def test_finds_the_output_folder(command: Sequence[str], folder: str | None) -> None:
    assert output_folder(command) == folder


def test_ranks_that_ignore_the_stop_request_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.pods.cost_cap._PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("training.pods.cost_cap._GRACE_SECONDS", 0.1)
    monkeypatch.setattr(WorkerCostFile, "read", lambda *_: 0.0)
    monkeypatch.setattr(WorkerCostFile, "write", lambda *_: None)
    cap, calls = CostCap(0.001, 3600.0, WorkerCostFile((), 22), lambda: ["a"]), list[str]()
    cap.begin([])
    with cap.limit(lambda: calls.append("stop"), lambda: calls.append("end")):
        while "end" not in calls:
            time.sleep(0.01)
    assert calls[:2] == ["stop", "end"]
    with pytest.raises(JobEnd, match=r"^the run has cost"):
        cap.check()


def test_a_hostfile_without_workers_does_not_end_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkerCostFile, "read", lambda *_: 0.0)
    hosts: list[str] = ["a", "b"]

    def present() -> list[str]:
        if not hosts:
            raise UserError("names no worker")
        return list(hosts)

    cap = CostCap(1e-9, 3600.0, WorkerCostFile((), 22), present)
    assert str(cap) == "cost: $0.00 of $0.00, at $7,200.00 an hour"
    hosts.clear()
    assert str(cap).endswith(", at $7,200.00 an hour")


# A machine with much other work takes long to start the ranks: nothing costs before their first checkpoint.
COUNTS_TRAINING = """
import pathlib, sys, time
from training.pods import cost_cap, launcher
count = cost_cap.CostCap._count

def counts_training(cap):
    if cap._counted is not None and not list(pathlib.Path("{folder}").glob("*.checkpoint")):
        cap._counted = time.monotonic()
    count(cap)

cost_cap.CostCap._count = counts_training
sys.exit(launcher.main())
"""


def test_horovods_ranks_save_at_the_cap_and_resume_with_a_higher_one(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    mpirun = Path(sys.executable).parent / "mpirun"
    ranks = ("-np", "2", "--host", "localhost:2", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "^openib")
    program = (sys.executable, "-m", "training.digits", "--output-dir", str(folder), "--epochs", "24")
    digits = (str(mpirun if mpirun.exists() else "mpirun"), *ranks, *program)
    script = COUNTS_TRAINING.format(folder=folder / "checkpoints")
    done = run(2, *digits, script=script)
    assert done.returncode == 75, done.stderr
    assert "stopped on request after step " in done.stdout
    spent = dollars(folder)
    assert 2 <= spent < 200
    forget(tmp_path)
    done = run(100_000, *digits, script=script)
    assert done.returncode == 0, done.stderr
    assert "resuming after step " in done.stdout
    assert (folder / "results.json").exists()
    assert dollars(folder) > spent
