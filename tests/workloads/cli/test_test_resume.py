"""The command `test-resume`, with scripts that resume and scripts that do not."""

import json
from pathlib import Path

import pytest

from tests.workloads.cli.conftest import Command

# A rank that adds random numbers, and what it does before and after a step.
SCRIPT = """
import os, time
import numpy as np

rank, random, weights, first = int(os.environ["OMPI_COMM_WORLD_RANK"]), np.random.default_rng(0), np.zeros(3), 0
BEFORE
for step in range(first, 12):
    weights += random.normal(size=3)
    time.sleep(0.05)
    if rank == 0:
        print(f"step {step}: loss {weights[0]:.4f}", flush=True)
        AFTER
if rank == 0:
    np.save("final.npy", weights)
"""
RESTORE = """
if os.path.exists("state.npz"):
    with np.load("state.npz") as saved:
        weights, first = saved["weights"], int(saved["step"])
"""
SAVE = """
        np.savez("new.npz", weights=weights, step=step + 1)
        os.replace("new.npz", "state.npz")
"""
NUMBERS = "    [random.normal(size=3) for _ in range(first)]\n"


@pytest.fixture
def environment(root: Path) -> Path:
    folder = root / ".venv-training"
    if not (folder / "bin/mpirun").exists():
        pytest.skip("make setup-training")
    return folder


def script(before: str, after: str) -> str:
    return SCRIPT.replace("BEFORE", before).replace("AFTER", after.strip())


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (f"{RESTORE}{NUMBERS}", SAVE, "exact"),
        (RESTORE, SAVE, "continued, but different"),
        ("", "", "started again from zero"),
    ],
    ids=["exact", "without the random state", "without a checkpoint"],
)
def test_verdicts(before: str, after: str, verdict: str, tmp_path: Path, environment: Path, command: Command) -> None:
    (tmp_path / "train.py").write_text(script(before, after))
    code, output, errors = command("test-resume", "train.py", "--kills=2", f"--environment={environment}")
    assert (code, output.splitlines()[-1]) == (
        int(verdict != "exact"),
        f"train.py: {verdict}; the runs are in {tmp_path / 'resume-test'}",
    ), errors
    report = json.loads((tmp_path / "resume-test/report.json").read_text())
    kills = [start["disturbance"] for life in report["lives"].values() for start in life["starts"]]
    assert report["verdict"] == verdict
    assert len([kill for kill in kills if kill]) == 2
    # Nothing of the runs is in the user's folder.
    assert {path.name for path in tmp_path.iterdir()} == {"train.py", "resume-test"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("print('done')", "prints too few losses: they show where it resumes; print one every few steps"),
        ("raise SystemExit('no data')", "undisturbed it ends with exit code 1: rank  "),
        ("print('step 1: loss 1')\nprint('step 2: loss 2')", "it ended before each of 2 disturbances: it trains 0."),
    ],
    ids=["no losses", "fails", "too short"],
)
def test_scripts_that_cannot_be_tested(
    text: str, message: str, tmp_path: Path, environment: Path, command: Command
) -> None:
    (tmp_path / "train.py").write_text(text)
    options = ("--kills=2", "--seed=5", "--ranks=1", f"--environment={environment}")
    code, _, errors = command("test-resume", "train.py", *options)
    assert code == 2
    assert message in errors.splitlines()[-1]


def test_a_script_that_writes_outside_its_folder(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, environment: Path, command: Command
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    text = "import sys\nopen(sys.argv[1] + '/x', 'w')\nprint('step 1: loss 1')\nprint('step 2: loss 2')"
    (tmp_path / "train.py").write_text(text)
    options = ("--ranks=1", f"--environment={environment}")
    code, _, errors = command("test-resume", "train.py", *options, "--", str(outside))
    assert code == 2
    assert f"'ARGUMENT' is '{outside}', but the program writes there, outside its folder" in errors.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["train.py", "--kills=0"], "'--kills' is 0; give 1 or more"),
        (["none.py"], "'PROGRAM' is 'none.py', but it does not exist; give one of train.py"),
        (
            ["train.py", "--outdir=."],
            "but the current folder is in it, and a test makes its folder anew; give another folder",
        ),
        (
            ["train.py", "--outdir=own"],
            "but no test has written it, and a test makes its folder anew; give another folder",
        ),
        (["train.py", "--volumes=data"], "'--volumes' is 'data', but only a job has volumes; omit it"),
        (["../train.py"], "'PROGRAM' is '../train.py', but it is not in the current folder; go to its folder"),
    ],
)
def test_a_mistake_is_one_line(options: list[str], message: str, tmp_path: Path, command: Command) -> None:
    for folder in (tmp_path, tmp_path.parent):
        (folder / "train.py").write_text("")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/.gitignore").write_text("*.pyc\n")
    code, output, errors = command("test-resume", *options)
    assert (code, output, errors.count("\n")) == (2, "", 1), errors
    assert (tmp_path / "own/.gitignore").is_file()
    assert message in errors
