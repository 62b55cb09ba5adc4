"""The command `test-resume`, with scripts that resume and scripts that do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cli.conftest import Command
from training_workloads.resume_test import resume_test
from training_workloads.resume_test.disturbances import Disturbance, Kind, Moment

# A rank that adds random numbers, and what it does before and after a step.
SCRIPT = """
import os, time
import numpy as np

rank, random, weights, first = int(os.environ["OMPI_COMM_WORLD_RANK"]), np.random.default_rng(0), np.zeros(3), 0
BEFORE
for step in range(first, 12):
    weights += random.normal(size=3)
    time.sleep(0.1)
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
    code, output, errors = command("test-resume", "train.py", "--kills=2", "--seed=32", f"--environment={environment}")
    assert (code, output.splitlines()[-1]) == (
        int(verdict != "exact"),
        f"train.py: {verdict}; the runs are in {tmp_path / 'resume-test'}",
    ), errors
    report = json.loads((tmp_path / "resume-test/report.json").read_text())
    assert report["verdict"] == verdict
    assert report["disturbances"] == {"asked": 2, "took effect": 2}
    assert "2 disturbances in 1 run: about " in errors
    # Nothing of the runs is in the user's folder.
    assert {path.name for path in tmp_path.iterdir()} == {"train.py", "resume-test"}


def disturbance(kind: Kind, share: float, moment: Moment = Moment.BETWEEN_STEPS, rank: int = 0) -> Disturbance:
    return Disturbance(kind=kind, rank=rank, moment=moment, share=share, part=0.5)


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment: Path, command: Command) -> Any:
    """Test a script with chosen disturbances of one life, and return the exit code, the report and the errors."""

    def run(text: str, *chosen: Disturbance, ranks: int = 1) -> tuple[int, dict[str, Any], str]:
        (tmp_path / "train.py").write_text(text)
        monkeypatch.setattr(resume_test, "drawn", lambda kills, ranks, seed: [chosen])
        options = (f"--kills={len(chosen)}", f"--ranks={ranks}", f"--environment={environment}", "--json")
        code, output, errors = command("test-resume", "train.py", *options)
        return code, json.loads(output) if output else {}, errors

    return run


IGNORES = """
import signal
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
"""


@pytest.mark.parametrize("kind", [Kind.STOP, Kind.RANK_STOPPED])
def test_a_request_that_is_ignored_is_no_disturbance(kind: Kind, disturbed: Any) -> None:
    code, _, errors = disturbed(IGNORES + script("", ""), disturbance(kind, 0.2))
    assert code == 2
    assert "none of 1 disturbances took effect (it went on): it trains " in errors.splitlines()[-1]


def test_a_request_that_is_ignored_is_named_beside_a_kill(disturbed: Any) -> None:
    text = IGNORES + script(f"{RESTORE}{NUMBERS}", SAVE).replace("0.1)", "0.2)")
    chosen = (disturbance(Kind.RANK_STOPPED, 0.1), disturbance(Kind.RANK_KILLED, 0.7))
    code, report, errors = disturbed(text, *chosen)
    assert (code, report["verdict"]) == (0, "exact"), errors
    assert report["disturbances"] == {"asked": 2, "took effect": 1}
    assert report["notes"] == ["SIGTERM to rank 0 had no effect: it went on"]


def test_a_rank_that_hangs_after_a_request_is_killed_as_a_pod_is(
    disturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume_test, "_LEAST_SILENCE", 2.0)
    hangs = "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: time.sleep(600))\n"
    text = hangs + script(f"{RESTORE}{NUMBERS}", SAVE)
    code, report, errors = disturbed(text, disturbance(Kind.RANK_STOPPED, 0.4))
    assert (code, report["disturbances"]["took effect"]) == (0, 1), errors
    hung = "after SIGTERM to rank 0 start 1 neither ended nor went on, and was killed after 2 s"
    assert report["notes"] == [f"killed 1: {hung}"]


def test_a_script_that_is_too_short_to_be_disturbed(disturbed: Any) -> None:
    text = "print('step 1: loss 1')\nprint('step 2: loss 2')"
    code, _, errors = disturbed(text, disturbance(Kind.ALL_KILLED, 0.9, Moment.WHILE_WRITING))
    assert code == 2
    assert "none of 1 disturbances took effect (it had ended before): it trains 0." in errors.splitlines()[-1]


STOPS = """
import signal, sys
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
"""


@pytest.mark.parametrize("code_of_stop", [0, 75])
def test_a_stop_request_is_that_of_a_job_and_the_saved_state_is_that_of_the_stop(
    code_of_stop: int, disturbed: Any
) -> None:
    after = f"if asked:\n            {SAVE.strip()}\n            sys.exit({code_of_stop})"
    after = after.replace("        os.replace", "            os.replace", 1)
    code, report, errors = disturbed(
        STOPS + script(f"{RESTORE}{NUMBERS}", after), disturbance(Kind.STOP, 0.4), disturbance(Kind.STOP, 0.6)
    )
    starts = report["lives"]["killed 1"]["starts"]
    assert (code, report["verdict"], [start["code"] for start in starts]) == (0, "exact", [code_of_stop] * 2 + [0])
    assert starts[0]["disturbance"] == {
        "kind": "stop request (SIGUSR1 to the launcher)",
        "moment": "between two losses",
    }, errors
    assert report["notes"] == []


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("kind", [Kind.ALL_KILLED, Kind.LAUNCHER_KILLED, Kind.RANK_LOST])
def test_every_moment_and_kind_ends_a_start(kind: Kind, moment: Moment, disturbed: Any) -> None:
    text = script(f"{RESTORE}{NUMBERS}", SAVE).replace("step {step}:", "epoch {step // 4} step {step}:")
    code, report, errors = disturbed(text, disturbance(kind, 0.3, moment), ranks=2)
    assert (code, report["verdict"], report["disturbances"]["took effect"]) == (0, "exact", 1), errors
    losses = report["lives"]["killed 1"]["starts"][0]["losses"]
    if moment == Moment.BEFORE_THE_FIRST_STEP:
        assert losses <= 1
    elif moment == Moment.END_OF_AN_EPOCH:
        assert losses in (4, 5)
    else:
        assert losses in range(3, 8)


def test_losses_in_a_bar_are_read_as_they_are_printed(disturbed: Any) -> None:
    drawn = 'print(f"\\rEpoch 0: {step}/12 [=>..] loss: {weights[0]:.4f}", end="", flush=True)'
    text = script(f"{RESTORE}{NUMBERS}", SAVE).replace(
        'print(f"step {step}: loss {weights[0]:.4f}", flush=True)', drawn
    )
    code, report, errors = disturbed(text, disturbance(Kind.RANK_KILLED, 0.5))
    assert (code, report["verdict"]) == (0, "exact"), errors
    assert report["lives"]["killed 1"]["starts"][0]["losses"] in range(5, 9)
    assert int(report["lives"]["killed 1"]["resumed"][0].split()[3].strip(",")) in range(5, 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("print('done')", "prints too few losses: they show where it resumes; print one every few steps"),
        ("raise SystemExit('no data')", "undisturbed it ends with exit code 1: rank  "),
    ],
    ids=["no losses", "fails"],
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
