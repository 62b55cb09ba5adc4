"""A sweep on this machine, with programs that take no time."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workloads.bench.conftest import LOCAL, records, with_mpirun
from tests.workloads.cluster.conftest import Program, Result
from training_workloads.cli import main

RUN = ("bench", "run", "sweep.yaml", "--results", "results", "--environment")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """Run the program in this process, with real streams: ranks write into them."""

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["trainctl", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capfd.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Result(code, output.out, output.err)

    return run


def started(folder: Path) -> list[str]:
    return (folder / "started").read_text().split()


def test_runs_the_most_ranks_first_and_nothing_twice(program: Program, folder: Path) -> None:
    environment = with_mpirun(folder)
    first = program(*RUN, environment)
    assert (first.code, started(folder)) == (0, ["2", "2", "1", "1"])
    assert [each["results"]["images_per_second"] for each in records(folder / "results")] == [201, 202, 103, 104]
    summary = json.loads((folder / "results/summary.json").read_text())
    assert [(each["ranks"], each["figures"]["images_per_second"]) for each in summary] == [(1, 103.5), (2, 201.5)]
    # 201.5 of twice 103.5.
    assert [round(each["efficiency"], 4) for each in summary] == [1.0, 0.9734]
    assert not list((folder / "runs").glob("bench-*"))
    second = program(*RUN, environment)
    assert (second.code, len(started(folder))) == (0, 4)
    assert "note: 4 of 4 repetitions are finished already" in second.err


def test_a_rank_has_as_many_cores_in_every_cell(program: Program, folder: Path) -> None:
    cores = os.sched_getaffinity(0)
    event = "pathlib.Path(f'cores-{ranks}').write_text(str(len(os.sched_getaffinity(0))))"
    assert program(*RUN, with_mpirun(folder, event)).code == 0
    share = max(1, len(cores) // 2)
    found = [int((folder / f"cores-{ranks}").read_text()) for ranks in (1, 2)]
    assert found == [share, min(2 * share, len(cores))]
    assert f" cores, {share} for each rank" in (folder / "results/report.md").read_text()
    assert os.sched_getaffinity(0) == cores


def test_a_program_that_fails_is_not_repeated_and_is_run_again_by_the_next_start(
    program: Program, folder: Path
) -> None:
    failing = program(*RUN, with_mpirun(folder, "if ranks == '2': sys.exit(3)"))
    assert (failing.code, started(folder)) == (1, ["2", "1", "1"])
    assert "- fake, ranks 2: exit code 3" in (folder / "results/report.md").read_text()
    assert program(*RUN, with_mpirun(folder)).code == 0
    assert started(folder)[3:] == ["2", "2"]


def test_a_corrected_sweep_replaces_the_cells_of_the_first_one(program: Program, folder: Path) -> None:
    assert program(*RUN, with_mpirun(folder, "if ranks == '2': sys.exit(2)")).code == 1
    (folder / "sweep.yaml").write_text(LOCAL + "arguments: [--corrected]")
    assert program(*RUN, with_mpirun(folder)).code == 0
    summary = json.loads((folder / "results/summary.json").read_text())
    assert [(each["ranks"], each["repetitions"], each["failures"]) for each in summary] == [(1, 2, []), (2, 2, [])]


def test_a_signal_ends_the_run_and_the_next_start_continues(program: Program, folder: Path) -> None:
    event = "if number == 2:\n    os.kill(os.getppid(), signal.SIGTERM)\n    signal.pause()"
    ended = program(*RUN, with_mpirun(folder, event))
    assert (ended.code, started(folder)) == (143, ["2", "2"])
    assert [each["state"] for each in records(folder / "results")] == ["finished", "interrupted"]
    assert not list((folder / "runs").glob("bench-*"))
    assert program(*RUN, with_mpirun(folder)).code == 0
    # The finished repetition is not among them.
    assert started(folder)[2:] == ["2", "1", "1"]


def test_after_a_kill_the_next_start_removes_what_was_left(program: Program, folder: Path, root: Path) -> None:
    environment = with_mpirun(folder, "if number == 2:\n    os.kill(os.getppid(), signal.SIGKILL)\n    sys.exit(1)")
    killed = subprocess.run([sys.executable, "-m", "training_workloads", *RUN, environment], cwd=folder)
    assert killed.returncode == -signal.SIGKILL
    (left,) = (folder / "runs").glob("bench-*")
    assert program(*RUN, with_mpirun(folder)).code == 0
    assert not left.exists()
    assert started(folder) == ["2", "2", "2", "1", "1"]


def test_two_sweeps_do_not_share_a_folder(program: Program, folder: Path) -> None:
    environment = with_mpirun(folder, "import subprocess\nif number == 1: other()")
    text = (folder / environment / "bin/mpirun").read_text()
    inner = [sys.executable, "-m", "training_workloads", *RUN, environment]
    call = (
        f"def other(): pathlib.Path('other').write_text(subprocess.run({inner}, capture_output=True, text=True).stderr)"
    )
    (folder / environment / "bin/mpirun").write_text(
        text.replace("import subprocess\n", f"import subprocess\n{call}\n")
    )
    assert program(*RUN, environment).code == 0
    assert (folder / "other").read_text() == (
        "error: '--results' is 'results', but another sweep writes into it; wait for its end, or give another folder\n"
    )
