"""Sweeps, and recipes whose programs take no time."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.conftest import cluster, kubeconfig, program
from tests.workloads.run_local.test_runner import environment_with_mpirun

__all__ = ["cluster", "kubeconfig", "program"]

RECIPES = """
from training_workloads import HorovodJobSpec, SharedVolume

def fake(name):
    command = ("true", "--output-dir", SharedVolume().path(f"runs/{name}"))
    return HorovodJobSpec(name=name, image="image:1", command=command, instance_type="p4d.24xlarge", workers=1)

RECIPES = {"fake": fake}
"""

LOCAL = """
recipe: fake
runner: local
axes:
  ranks: [1, 2]
repeats: 2
"""

# What mpirun does: it counts its runs, does what a test wants in one of them, and writes results.
BODY = """
import json, pathlib, signal
ranks, output = (sys.argv[sys.argv.index(option) + 1] for option in ("-np", "--output-dir"))
runs = pathlib.Path("started")
runs.write_text((runs.read_text() if runs.exists() else "") + ranks + " ")
number = len(runs.read_text().split())
os.makedirs(output)
{event}
figures = {{"images_per_second": 100.0 * int(ranks) + number, "wall_images_per_second": 50.0}}
pathlib.Path(output, "results.json").write_text(json.dumps(figures))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the recipe `fake` and a sweep of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes.py").write_text(RECIPES)
    (tmp_path / "sweep.yaml").write_text(LOCAL)
    return tmp_path


def with_mpirun(folder: Path, event: str = "") -> str:
    """Return an environment whose mpirun does something in its second run."""
    return str(environment_with_mpirun(folder / f"made{len(list(folder.glob('made*')))}", BODY.format(event=event)))


def records(results: Path) -> list[dict[str, Any]]:
    """Return every record, in the order of their jobs."""
    found = [json.loads(path.read_text()) for path in results.glob("*/*/record.json")]
    return sorted(found, key=lambda record: float(record["began"]))
