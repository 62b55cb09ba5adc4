import subprocess
import sys
from pathlib import Path

import pytest
import yaml


def program(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "training_workloads", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_render_writes_every_recipe_and_the_operator(tmp_path: Path) -> None:
    result = program("render", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    names = {"digits-p3", "digits-p4d", "mpi-job-definition", "mpi-operator"}
    assert {path.name for path in (tmp_path / "dist").iterdir()} == {f"{name}.k8s.yaml" for name in names}
    assert set(result.stdout.split()) == {f"dist/{name}.k8s.yaml" for name in names}


def test_render_derives_a_job_from_a_recipe(tmp_path: Path) -> None:
    options = ["--name=mine", "--workers=4", "--gpus-per-worker=2", "--image=repo/image:3", "--namespace=team"]
    result = program("render", "digits-p3", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    job, policy = yaml.safe_load_all((tmp_path / "dist/mine.k8s.yaml").read_text())
    assert job["metadata"] == policy["metadata"] == {"name": "mine", "namespace": "team"}
    container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert container["image"] == "repo/image:3"
    assert container["command"][2] == "8"


def test_every_mistake_is_a_line_of_its_own(tmp_path: Path) -> None:
    result = program("render", "digits-p3", "--workers=0", "--gpus-per-worker=99", "--image=", cwd=tmp_path)
    assert (result.returncode, result.stderr.splitlines()) == (
        2,
        [
            "error: '--image' is ''; give the image's address, such as <repository>:<tag>",
            "error: '--workers' is 0; give 1 or more",
            "error: '--gpus-per-worker' is 99 but p3.16xlarge has 8 GPUs; lower it to 8 or fewer, or use more workers",
        ],
    )


def test_a_file_system_is_sized_for_a_job(tmp_path: Path) -> None:
    result = program("size-lustre", "--images-per-second=20000", "--bytes-per-image=110000", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (
        0,
        "Lustre: 20,000 images/s x 110 kB = 2,200 MB/s: 2400 GiB at 1000 MB/s per TiB, which sustains 2,344 MB/s\n",
    )
    result = program("size-lustre", "--images-per-second=0", "--bytes-per-image=110000", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (
        2,
        "error: '--images-per-second' is 0.0; give a number above 0, such as 2500\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["digits-p3", "--instance-type=p4d.24xlage"],
            "'--instance-type' is 'p4d.24xlage', which is not known; "
            "did you mean p4d.24xlarge or p4de.24xlarge or p3dn.24xlarge?",
        ),
        (
            ["digits-p3", "--gpus-per-worker=16"],
            "'--gpus-per-worker' is 16 but p3.16xlarge has 8 GPUs; lower it to 8 or fewer, or use more workers",
        ),
        (["digits-p3", "--workers=0"], "'--workers' is 0; give 1 or more"),
        (
            ["digits-p3", f"--name={'n' * 60}"],
            f"'--name' is '{'n' * 60}' with 60 characters, but with 2 workers the operator makes pods named "
            "'<name>-worker-1' of at most 63; use a name of 54 characters or fewer",
        ),
        (
            ["digits-p3", "--name=mpi-operator"],
            "'--name' is 'mpi-operator', which another manifest has already; choose another name",
        ),
        (["digits-p3", "--image="], "'--image' is ''; give the image's address, such as <repository>:<tag>"),
        (["--name=x"], "'--name' is 'x' but 2 recipes are rendered; name one recipe"),
        (
            ["digit-p3"],
            "'recipe' is 'digit-p3', which is not known; "
            "did you mean digits-p3 or digits-p4d? known: digits-p3, digits-p4d",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = program("render", *arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"error: {message}\n")
