"""What `run-local` runs for a name: a recipe, a file, a script, or an answer that names what exists."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from training_workloads.run_local.local_plan import plan_script
from training_workloads.run_local.run_target import read_target
from training_workloads.validation import InputError

JOB = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: mine}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder with one rendered job."""
    (tmp_path / "dist/jobs").mkdir(parents=True)
    (tmp_path / "dist/jobs/mine.k8s.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problem_of(name: str) -> str:
    with pytest.raises(InputError) as caught:
        read_target(name)
    return str(caught.value)


@pytest.mark.usefixtures("folder")
def test_a_recipe_is_rendered_and_writes_nothing_into_the_folder(folder: Path) -> None:
    target = read_target("digits")
    assert target.job.content["metadata"]["name"] == "digits"
    assert (target.origin, target.note) == ("the recipe digits", "")
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["mine.k8s.yaml"]


def test_a_rendered_job_with_the_name_of_a_recipe_is_noted(folder: Path) -> None:
    (folder / "dist/jobs/digits.k8s.yaml").write_text(JOB)
    target = read_target("digits")
    assert target.job.content["metadata"]["name"] == "digits"
    assert target.note == "dist/jobs/digits.k8s.yaml exists and is not used; give its path to run that"


def test_a_file_goes_before_a_recipe(folder: Path) -> None:
    (folder / "digits").write_text(JOB)
    assert read_target("digits").job.content["metadata"]["name"] == "mine"
    assert read_target("digits").origin == "digits"


@pytest.mark.usefixtures("folder")
def test_an_unknown_name_is_answered_with_what_exists() -> None:
    assert problem_of("digit-p5") == (
        "'file' is 'digit-p5', but it is neither a recipe nor a file; did you mean digits-p5 or "
        "digits-p4d or digits-spot?; files in dist/jobs: mine.k8s.yaml"
    )
    assert problem_of("mine") == (
        "'file' is 'mine', but it is neither a recipe nor a file; give dist/jobs/mine.k8s.yaml"
    )
    assert problem_of("") == "'file' is ''; give a recipe, a manifest or a Python script"


def test_the_old_name_of_a_recipe_is_answered_with_the_new_one_or_with_its_manifest(folder: Path) -> None:
    assert problem_of("resnet50-p3") == (
        "'file' is 'resnet50-p3', but AWS has retired its instance type; give resnet50-p3dn"
    )
    (folder / "dist/jobs/resnet50-p3.k8s.yaml").write_text(JOB)
    assert problem_of("resnet50-p3").endswith("; give dist/jobs/resnet50-p3.k8s.yaml")


def test_a_missing_script_is_answered_with_those_of_its_folder(folder: Path) -> None:
    for name in ("train.py", "app.py", "setup.py"):
        (folder / name).touch()
    assert problem_of("tran.py") == "'file' is 'tran.py', but it does not exist; give one of train.py"
    assert problem_of("gone/tran.py") == "'file' is 'gone/tran.py', but it does not exist; give a script that exists"


def test_of_many_files_the_close_ones_are_named(folder: Path) -> None:
    for number in range(20):
        (folder / f"{chr(97 + number) * 8}.py").touch()
    assert problem_of("ccccc.py") == "'file' is 'ccccc.py', but it does not exist; give one of cccccccc.py"
    assert problem_of("zz.py") == "'file' is 'zz.py', but it does not exist; give a script that exists"


def test_a_file_with_recipes_runs_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "recipes.py").write_text("print('runs')\nRECIPES = {'mine-too': print}\n")
    assert "did you mean mine-too?" in problem_of("mine-to")
    assert capsys.readouterr() == ("", "runs\n")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("stage-data", "it needs source and service_account, which only 'trainctl render' takes; render it"),
        ("tensorboard", "it contains Deployment, Service, NetworkPolicy, and only the launcher of one MPIJob, or"),
    ],
)
def test_a_recipe_without_an_mpi_job_is_rejected(recipe: str, words: str) -> None:
    assert problem_of(recipe).startswith(f"'file' is '{recipe}', but {words}")


@pytest.mark.parametrize("arguments", [[], ["--epochs", "3"], ["/etc/mpi/hostfile"]])
def test_a_script_starts_as_a_job_does(arguments: Sequence[str]) -> None:
    run = plan_script("train.py", arguments, Path("/scratch"))
    assert " ".join(run.command) == (
        "mpirun --stdin none -np 2 --hostfile /scratch/hostfile --map-by slot --bind-to none --tag-output --mca "
        "pml ob1 --mca btl ^openib --mca btl_vader_single_copy_mechanism none -x PATH -x LD_LIBRARY_PATH "
        "-x TF_NUM_INTRAOP_THREADS -x TRAINING_DATA_THREADS "
        f"{' '.join(['python', 'train.py', *arguments])}"
    )
    assert run.environment.keys() == {"TF_NUM_INTRAOP_THREADS", "TRAINING_DATA_THREADS"}
    assert run.title == f"train.py: 2 ranks of {' '.join(['python', 'train.py', *arguments])}"


@pytest.mark.parametrize(("ranks", "fix"), [(0, "1 or more"), (-1, "1 or more"), (10**6, "9999 or less")])
def test_rejects_a_number_of_ranks(ranks: int, fix: str) -> None:
    with pytest.raises(InputError, match=f"^'ranks' is {ranks}; give {fix}$"):
        plan_script("train.py", [], Path("/scratch"), ranks)
