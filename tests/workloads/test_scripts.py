"""Python scripts as programs of a job."""

from pathlib import Path
from typing import Any

import pytest

from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.recipes.scripts import TORCHRUN, chosen_launcher, is_script, script_job, script_program
from training_workloads.validation import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("import torch", True),
        ("from torch import nn", True),
        ("def main():\n    from transformers import Trainer", True),
        ("import lightning.pytorch as pl", True),
        ("import torch\nimport horovod.torch as hvd", False),
        ("import torch\nfrom mpi4py import MPI", False),
        ("import tensorflow", False),
        ("from .torch import x", False),
        ("import torchless", False),
        ("def f(:", False),
    ],
)
def test_the_imports_of_a_script_choose_its_launcher(text: str, needs: bool, folder: Path) -> None:
    script = folder / "train.py"
    script.write_text(text)
    assert (chosen_launcher(str(script)) == TORCHRUN) == needs


def test_a_script_is_a_python_file_that_exists(folder: Path) -> None:
    (folder / "train.py").touch()
    (folder / "folder.py").mkdir()
    assert [is_script(name) for name in ("train.py", "folder.py", "gone.py", "dist/jobs/mine.k8s.yaml")] == [
        *(True, False, False, False)
    ]


def test_the_user_may_choose_the_launcher(folder: Path) -> None:
    (folder / "train.py").write_text("import torch\n")
    assert chosen_launcher("train.py", "mpirun") == "mpirun"
    with pytest.raises(InputError, match="'launcher' is 'srun'; give one of torchrun, mpirun"):
        chosen_launcher("train.py", "srun")


@pytest.mark.parametrize(
    ("script", "text", "program"),
    [
        ("pkg/digits/__main__.py", "from pkg.digits import images", "-m pkg.digits"),
        ("./pkg/digits/main.py", "from . import images", "-m pkg.digits.main"),
        ("pkg/digits/main.py", "import images", "pkg/digits/main.py"),
        ("train.py", "import pkg", "train.py"),
        ("other/train.py", "from other import x", "other/train.py"),
    ],
)
def test_a_file_of_a_package_that_imports_from_it_runs_as_its_module(
    script: str, text: str, program: str, folder: Path
) -> None:
    for package in ("pkg", "pkg/digits", "other"):
        (folder / package).mkdir()
    for package in ("pkg", "pkg/digits"):
        (folder / package / "__init__.py").touch()
    (folder / script).write_text(text)
    assert " ".join(script_program(script)) == f"python {program}"


def test_a_script_is_a_job_of_its_launcher(folder: Path) -> None:
    given: dict[str, Any] = {"instance_type": "p4d.24xlarge", "workers": 2}
    (folder / "my_train.py").write_text("import torch\n")
    spec = script_job("my_train.py", None, "image", scheduling={"queue": "team"}, **given)
    assert isinstance(spec, TorchElasticJobSpec)
    assert (spec.name, spec.workers, spec.scheduling.queue) == ("my-train", 2, "team")
    assert script_job("my_train.py", "mine", "image", **given).name == "mine"
    assert type(script_job("my_train.py", None, "image", launcher="mpirun", **given)) is HorovodJobSpec


@pytest.mark.parametrize("script", ["../train.py", "/train.py"])
def test_a_script_outside_of_the_folder_is_no_job(script: str, folder: Path) -> None:
    with pytest.raises(InputError, match="but the image has the files of the current folder; go to its folder"):
        script_job(script, None, "image", instance_type="p4d.24xlarge", workers=2)
