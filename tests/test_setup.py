"""The set-up: what it rejects before it starts, its lines, and what happens when a step fails or is stopped."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

# The programs of every Debian, and those that the README requires.
ALWAYS = ["bash", "cat", "df", "dirname", "env", "sed"]
REQUIRED = ["c++", "git", "python3"]


def program(path: Path, script: str) -> None:
    """Write a program for the place of a real one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{script}\n")
    path.chmod(0o755)


def df(free: int) -> str:
    """Return the program of a disk with free megabytes."""
    return f"printf 'Filesystem 1M-blocks Used Available Capacity Mounted\\n/dev/x 99000 8000 {free} 89%% /home\\n'"


def preflight(
    root: Path, folder: Path, *, missing: str | None = None, **programs: str
) -> subprocess.CompletedProcess[str]:
    """Run the check on a machine without one program, and with others in the place of the real ones."""
    # Not in the folder, whose name may not be allowed in PATH.
    path = Path(tempfile.mkdtemp(dir=folder.parent, prefix="bin-"))
    folder.mkdir(exist_ok=True)
    programs = {"df": df(90000)} | programs
    for name in {*ALWAYS, *REQUIRED} - {missing}:
        found = shutil.which(name)
        assert found, f"{name} is needed to test the set-up"
        (path / name).symlink_to(Path(found).resolve())
    for name, script in programs.items():
        program(path / name, script)
    command = ["bash", str(root / "setup/preflight.sh")]
    return subprocess.run(command, cwd=folder, env={"PATH": str(path)}, capture_output=True, text=True, check=False)


def test_accepts_a_complete_machine(root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("c++", "a C++ compiler (Debian: g++)"),
        ("git", "git"),
        ("python3", "Python 3.11 or newer (found: no python3; Debian 12 or later: python3 python3-venv)"),
    ],
)
def test_reports_a_missing_program_in_one_line(name: str, reported: str, root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path, missing=name)
    assert result.returncode == 1
    assert result.stderr == f"error: install what is missing, then run make again: {reported}\n"


def test_reports_an_old_python(root: Path, tmp_path: Path) -> None:
    old = preflight(root, tmp_path, python3='[ "$1" = --version ] && echo "Python 3.9.2" && exit; exit 1')
    assert "Python 3.11 or newer (found: Python 3.9.2; Debian 12 or later" in old.stderr


def test_reports_a_python_without_venv(root: Path, tmp_path: Path) -> None:
    without = preflight(root, tmp_path, python3='case "$2" in *ensurepip*) exit 1 ;; esac')
    assert without.stderr.endswith(": Python's venv module (Debian: python3-venv)\n")


@pytest.mark.parametrize("name", ["a b", "a:b", "it's", "a$b", "é b"])
def test_rejects_a_path_that_compilers_and_mpi_do_not_accept(name: str, root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path / name)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: '{tmp_path / name}' contains a character that")
    assert result.stderr.count("\n") == 1


def test_accepts_a_path_with_letters_outside_of_ascii(root: Path, tmp_path: Path) -> None:
    assert preflight(root, tmp_path / "josé").returncode == 0


def test_rejects_a_disk_without_space_before_anything_is_installed(root: Path, tmp_path: Path) -> None:
    result = preflight(root, tmp_path / "new", df=df(1000))
    assert result.returncode == 1
    assert "has 1000 MB of free disk space, but the set-up needs" in result.stderr
    (tmp_path / "again/.venv-training").mkdir(parents=True)
    assert preflight(root, tmp_path / "again", df=df(1000)).returncode == 0


def script(root: Path, text: str) -> list[str]:
    """Return the command of a script that uses the functions of the set-up."""
    return ["bash", "-c", f"source {root}/setup/common.sh; {text}"]


def test_a_failed_command_shows_its_output_and_the_next_step(root: Path, tmp_path: Path) -> None:
    text = "begin x; step 'packages'; quietly 'install packages' bash -c 'echo no route to host >&2; exit 1'; complete"
    result = subprocess.run(script(root, text), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "==> packages ... \n")
    first, last = result.stderr.splitlines()
    assert first == "no route to host"
    assert last.startswith("error: could not install packages; all of the output is in .setup/setup.log.")
    assert not (tmp_path / ".setup/x.done").exists()


def test_a_step_is_one_line(root: Path, tmp_path: Path) -> None:
    text = "begin x; step 'packages'; quietly 'install' bash -c 'seq 100'; finish '7 packages'; complete"
    result = subprocess.run(script(root, text), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"==> packages \.\.\. 7 packages, \d+ s\n", result.stdout)
    assert result.stderr == ""
    assert (tmp_path / ".setup/x.done").exists()


def test_a_stopped_step_is_one_line(root: Path, tmp_path: Path) -> None:
    text = "begin x; step 'packages'; quietly 'install' bash -c 'echo installing; sleep 30'"
    running = subprocess.Popen(
        script(root, text), cwd=tmp_path, start_new_session=True, stdout=-1, stderr=-1, text=True
    )
    log, end = tmp_path / ".setup/setup.log", time.monotonic() + 20
    while not (log.exists() and log.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=10)
    assert running.returncode == 130
    assert errors == "stopped; run make again: it keeps the finished steps\n"


def test_a_second_setup_waits_and_does_not_install_again(root: Path, tmp_path: Path) -> None:
    first = subprocess.Popen(script(root, "begin x; echo; sleep 0.5; complete"), cwd=tmp_path, stdout=-1)
    assert first.stdout
    first.stdout.readline()
    second = subprocess.run(
        script(root, "begin x; echo installs"), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert second.stdout == "another make installs into this folder; waiting until it ends\n"
    first.communicate(timeout=10)


def test_a_folder_without_write_permission_is_one_line(root: Path, tmp_path: Path) -> None:
    # Also for root: a file has the place of the folder.
    (tmp_path / ".setup").touch()
    result = subprocess.run(script(root, "begin x"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: cannot write into {tmp_path}; clone the repository into a folder of")
    assert result.stderr.count("\n") == 1


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Path:
    """A clone whose CDK side is complete, with programs that install nothing."""
    for name in ("setup", "requirements", "training/pods"):
        shutil.copytree(root / name, tmp_path / name)
    program(tmp_path / "bin/mpirun", "echo 'mpirun (Open MPI) 5.0.11'")
    program(tmp_path / "bin/mpicxx", "")
    program(tmp_path / ".venv-training/bin/python", "")
    program(tmp_path / ".venv/bin/uv", "")
    built = "for folder; do :; done; mkdir -p $folder; touch $folder/horovod.whl"
    program(tmp_path / ".venv/bin/python", rf"echo -e '[ 45%] \e[32mBuilding CXX object x/y.cc.o\e[0m'; {built}")
    return tmp_path


def in_a_terminal(command: list[str], folder: Path) -> str:
    """Return the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=theirs, stderr=theirs, timeout=30, check=False)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0, shown
    return shown


def test_the_compilation_of_horovod_shows_its_progress_on_a_terminal(clone: Path) -> None:
    shown = in_a_terminal(["bash", "setup/training.sh"], clone)
    assert "compiling Horovod, once, 2 to 10 minutes ... " in shown
    assert "\x1b8\x1b[K45%" in shown
    assert "with MPI and Gloo" in shown.splitlines()[-1]
    again = in_a_terminal(["bash", "setup/training.sh"], clone)
    assert "compiling" not in again


def test_a_compiler_that_rejects_horovod_is_one_line(clone: Path) -> None:
    for name in ("c++", "g++", "g++-12", "g++-13"):
        program(clone / "bin" / name, "echo 14")
    environment = {**os.environ, "PATH": f"{clone / 'bin'}:{os.environ['PATH']}"}
    command = ["bash", "setup/training.sh"]
    result = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: Horovod is built with a GCC before 14; this machine has 14; install g++-13")
    # Clang is `c++` on some machines; its version says nothing about GCC.
    program(clone / "bin/g++", "echo 13")
    assert subprocess.run(command, cwd=clone, env=environment, capture_output=True, check=False).returncode == 0


def test_without_python_3_11_the_training_side_says_what_to_do(clone: Path) -> None:
    shutil.rmtree(clone / ".venv-training")
    program(clone / ".venv/bin/python", "exit 1")
    program(clone / "bin/python3.11", "exit 1")
    program(clone / ".venv/bin/uv", "echo no network >&2; exit 1")
    environment = {**os.environ, "PATH": f"{clone / 'bin'}:{os.environ['PATH']}"}
    result = subprocess.run(
        ["bash", "setup/training.sh"], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr.startswith("error: TensorFlow 2.15 needs Python 3.11; this machine has none and uv could not")
    assert result.stderr.count("\n") == 1


@pytest.fixture
def makefile(root: Path, tmp_path: Path) -> Path:
    """Return a folder with the Makefile and the files that it reads."""
    for name in ("Makefile", "pyproject.toml", "package-lock.json"):
        shutil.copy(root / name, tmp_path)
    for name in ("setup", "requirements", "training"):
        (tmp_path / name).symlink_to(root / name)
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # `make test` gives its flags to every make below it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_quickstart_completes_the_cdk_side_before_it_installs_the_training_side(makefile: Path) -> None:
    plan = make(makefile, "-n", "quickstart").stdout
    order = ["setup/cdk.sh", "cdk synth", "trainctl render", "setup/training.sh", "trainctl run-local", "summary.py"]
    places = [plan.index(command) for command in order]
    assert places == sorted(places)


def test_pytorch_is_installed_apart_and_after_the_training_side_whose_python_it_takes(makefile: Path) -> None:
    assert "setup/torch.sh" not in make(makefile, "-n", "setup").stdout
    plan = make(makefile, "-n", "test-long", "SUITE=torch").stdout
    order = ["setup/cdk.sh", "setup/training.sh", "setup/torch.sh", ".venv-torch/bin/python -m pytest"]
    places = [plan.index(command) for command in order]
    assert places == sorted(places)
    # Its tests import PyTorch.
    assert "--ignore=tests/training/torch_imagenet" in make(makefile, "-n", "test-training").stdout
    assert ".venv-torch" in make(makefile, "-n", "clean").stdout


@pytest.mark.parametrize(
    ("suite", "error"),
    [([], "error: SUITE is missing; give one "), (["SUITE=deploy it's"], "error: SUITE is 'deploy it's'; give one ")],
)
def test_an_unknown_suite_is_answered_with_the_list_which_the_guide_has_too(
    suite: list[str], error: str, makefile: Path, root: Path
) -> None:
    result = make(makefile, "test-long", *suite)
    assert (result.returncode, result.stdout) == (2, "")
    first, *listed = result.stderr.splitlines()[:-1]
    assert first.startswith(error)
    suites = re.findall(r"^\| `([a-z-]+)` \|", (root / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    assert [line.split()[0] for line in listed] == suites


def test_several_suites_run_one_after_the_other(makefile: Path) -> None:
    plan = make(makefile, "-n", "test-long", "SUITE=faults deploy", "SEED=7", "LIVES=killed-3").stdout
    faults = '.venv-training/bin/python -m tests.faults --seed "$SEED"  ${LIVES:-}'
    assert 0 < plan.index(faults) < plan.index("python -m pytest tests/deploy")


def test_docs_are_installed_again_into_a_new_environment(makefile: Path) -> None:
    (makefile / ".setup").mkdir()
    # Newer than what the steps read; .venv is the newest.
    for name, age in (("docs", 20), ("cdk", 10)):
        (makefile / f".setup/{name}.done").touch()
        os.utime(makefile / f".setup/{name}.done", (time.time() + 60 - age,) * 2)
    assert make(makefile, "-n", "setup-docs").stdout == "setup/docs.sh\n"


def test_a_folder_that_was_renamed_is_one_line(root: Path, makefile: Path) -> None:
    subprocess.run(script(root, "begin cdk; complete"), cwd=makefile, check=True)
    assert make(makefile, "-n", "jobs").returncode == 0
    moved = makefile.rename(makefile.with_name("renamed"))
    result = make(moved, "-n", "jobs")
    assert result.returncode == 2
    assert f"*** this folder was {makefile}, and was renamed or copied; run 'rm -rf .venv " in result.stderr
    assert result.stderr.count("\n") == 1
    assert make(moved, "-n", "clean").returncode == 0


@pytest.mark.parametrize(
    ("job", "given"), [("a b", "a b"), ("", ""), ("it's", "it's"), ("digits", "dist/jobs/digits.k8s.yaml")]
)
def test_run_local_gives_the_job_as_it_is_typed(job: str, given: str, makefile: Path) -> None:
    program(makefile / ".venv/bin/trainctl", 'printf "<%s>" "$@"')
    (makefile / "dist/jobs").mkdir(parents=True)
    (makefile / "dist/jobs/digits.k8s.yaml").touch()
    (makefile / ".setup").mkdir()
    (makefile / ".setup/training.done").touch()
    result = make(makefile, "-o", ".setup/training.done", "-o", ".setup/cdk.done", "run-local", f"JOB={job}")
    assert result.stdout.splitlines()[1:] == [f"<run-local><{given}><--ranks><2>"]
    assert result.stderr == ""


def test_run_local_takes_ranks_and_arguments(makefile: Path) -> None:
    program(makefile / ".venv/bin/trainctl", 'printf "<%s>" "$@"')
    (makefile / "train.py").touch()
    built = ("-o", ".setup/training.done", "-o", ".setup/cdk.done")
    result = make(makefile, *built, "run-local", "JOB=train.py", "RANKS=4", "ARGS=--epochs 3")
    assert result.stdout.splitlines()[1:] == ["<run-local><train.py><--ranks><4><--><--epochs><3>"]


def test_run_local_checks_the_job_before_it_installs(makefile: Path, root: Path) -> None:
    recipes = "workloads/training_workloads/recipes"
    (makefile / recipes).parent.mkdir(parents=True)
    (makefile / recipes).symlink_to(root / recipes)
    result = make(makefile, "run-local", "JOB=digit")
    assert (result.returncode, result.stdout) == (2, "")
    first, _ = result.stderr.splitlines()
    assert first.startswith(
        "error: JOB is 'digit', but it is neither a recipe nor a file; give one of digits digits-p4d "
    )
    assert "setup/training.sh" in make(makefile, "-n", "run-local", "JOB=digits").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run-local", "digits"],
            "'digits' is not a target; 'make help' lists them; a recipe is a variable: 'make run-local JOB=digits'",
        ),
        (["quick"], "'quick' is not a target; 'make help' lists them"),
    ],
)
def test_a_word_that_is_no_target_ends_make_at_once(words: list[str], message: str, makefile: Path) -> None:
    result = make(makefile, *words)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"*** {message}.  Stop." in result.stderr


def test_the_cdk_of_the_environment_works_from_any_folder_and_checks_for_no_newer_version(
    root: Path, tmp_path: Path
) -> None:
    shutil.copytree(root / "setup", tmp_path / "setup")
    program(tmp_path / "node_modules/.bin/cdk", 'echo "$CDK_DISABLE_VERSION_CHECK $PATH $*"')
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/cdk").symlink_to("../../setup/cdk_program.sh")
    done = subprocess.run(
        [tmp_path / ".venv/bin/cdk", "synth", "a b"],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"true /usr/bin:/bin:{tmp_path}/.venv/bin synth a b\n"


def test_the_cdk_of_the_environment_runs_in_the_nodejs_of_the_setup(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "setup", tmp_path / "setup")
    program(tmp_path / ".venv/bin/node", 'echo "$JSII_NODE $*"')
    program(tmp_path / "old/node", "echo old")
    (tmp_path / ".venv/bin/cdk").symlink_to("../../setup/cdk_program.sh")
    command = [str(tmp_path / ".venv/bin/cdk"), "synth", "a b"]
    environment = {"PATH": f"{tmp_path}/old:/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}/.venv/bin/node {tmp_path}/node_modules/.bin/cdk synth a b\n"


def test_the_summary_fits_a_terminal_and_ends_with_the_next_commands(root: Path, tmp_path: Path) -> None:
    results = tmp_path / "runs/digits/results.json"
    results.parent.mkdir(parents=True)
    results.write_text('{"accuracy": 0.98611, "images_per_second": 4607.3, "world_size": 2}')
    (tmp_path / "cdk.out").mkdir()
    for name in ("TrainingClusterStack", "TrainingDataStack"):
        (tmp_path / f"cdk.out/{name}.template.json").touch()
    command = [sys.executable, str(root / "setup/summary.py"), "digits"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert "test accuracy 0.9861, 4607 images/s on 2 ranks" in shown[1]
    assert [line.split("  ")[1] for line in shown[-3:]] == [
        "trainctl lint dist/jobs/",
        "trainctl render digits --image <image>",
        "trainctl submit dist/jobs/digits.k8s.yaml",
    ]
