"""Temporary files of the tests: inside the clone, out of reach of its settings, small, and removed."""

import subprocess
import sys
import tempfile
from pathlib import Path

import aws_cdk as cdk
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer

from tests import temporary_files


def test_every_program_has_the_folder_of_this_run(tmp_path: Path) -> None:
    (folder,) = {path for path in tmp_path.parents if path.parent == temporary_files.FOLDERS}
    python = subprocess.run(
        [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"], stdout=-1, text=True
    )
    node = subprocess.run(["node", "-p", "require('os').tmpdir()"], stdout=-1, text=True)
    assert {tempfile.gettempdir(), python.stdout.strip(), node.stdout.strip()} == {str(folder)}


def test_the_folder_of_a_killed_run_is_removed_at_the_next_start_and_that_of_another_run_stays(
    root: Path, tmp_path: Path
) -> None:
    program = (
        "import os, pathlib, signal, sys\n"
        "from tests import temporary_files\n"
        "(temporary_files.begin(pathlib.Path(sys.argv[1])) / 'file').touch()\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, tmp_path / "all"], cwd=root).returncode == -9
    (killed,) = (tmp_path / "all").iterdir()
    assert (killed / "file").exists()
    running = temporary_files.begin(tmp_path / "all")
    another = temporary_files.begin(tmp_path / "all")
    assert set((tmp_path / "all").iterdir()) == {running, another}
    temporary_files.end(another)
    assert set((tmp_path / "all").iterdir()) == {running}


def test_git_and_pytest_do_not_find_this_repository_above_it(tmp_path: Path) -> None:
    git = subprocess.run(["git", "rev-parse"], cwd=tmp_path, capture_output=True, text=True)
    assert "not a git repository" in git.stderr
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    assert f"rootdir: {tempfile.gettempdir()}\n" in shown


def test_a_synthesized_app_has_no_copy_of_kubectl() -> None:
    app = cdk.App()
    KubectlV35Layer(cdk.Stack(app, "Stack"), "Kubectl")
    made = [path.name for path in Path(app.synth().directory).iterdir()]
    assert "Stack.template.json" in made
    assert not [name for name in made if name.startswith("asset.")]
