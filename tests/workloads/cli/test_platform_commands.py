import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from training_workloads.cli import main
from training_workloads.recipes import NEEDS, RECIPES


def program(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "training_workloads", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int | str | None, str, str]]:
    """Runs the program in this process, which is faster: exit code, output, errors."""

    def run(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["training-workloads", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code, *capsys.readouterr())

    return run


LOCAL_ONLY = "the image is localhost/training:latest, which only this machine has; for a cluster give '--image'\n"


def names_in(folder: Path) -> set[str]:
    return {path.name.removesuffix(".k8s.yaml") for path in folder.iterdir() if path.is_file()}


def test_render_writes_every_recipe_that_needs_no_option_into_a_folder_of_jobs(tmp_path: Path) -> None:
    result = program("render", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"{LOCAL_ONLY}left out stage-data, which needs --source and --service-account\n"
    assert names_in(tmp_path / "dist/jobs") == set(RECIPES) - set(NEEDS)
    assert set(result.stdout.split()) == {f"dist/jobs/{name}.k8s.yaml" for name in set(RECIPES) - set(NEEDS)}
    assert names_in(tmp_path / "dist") == set()


def test_render_stages_what_is_given(tmp_path: Path, typed: Callable[..., tuple[int, str, str]]) -> None:
    made = typed("render", "stage-data", "--source=s3://bucket/data/x/", "--service-account=stage")
    assert made == (0, "dist/jobs/stage-data.k8s.yaml\n", LOCAL_ONLY)
    assert "s3://bucket/data/x/" in (tmp_path / "dist/jobs/stage-data.k8s.yaml").read_text()


def test_platform_and_jobs_lie_apart(tmp_path: Path, typed: Callable[..., tuple[int, str, str]]) -> None:
    code, output, errors = typed("platform")
    assert (code, errors) == (0, "")
    parts = ["efa-device-plugin", "mpi-job-definition", "mpi-operator", "nvidia-device-plugin"]
    assert output.split() == [f"dist/{part}.k8s.yaml" for part in parts]
    assert typed("render", "digits-p3") == (0, "dist/jobs/digits-p3.k8s.yaml\n", LOCAL_ONLY)
    code, _, errors = typed("platform", "mpi-operator", "efa-device-plugin")
    assert (code, errors) == (
        0,
        "removed dist/nvidia-device-plugin.k8s.yaml, which is not among the parts\n",
    )
    assert names_in(tmp_path / "dist") == {"efa-device-plugin", "mpi-job-definition", "mpi-operator"}


LUSTRE = [
    "--lustre-file-system-id=fs-0123456789abcdef0",
    "--lustre-dns-name=fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
    "--lustre-mount-name=abcd1234",
    "--lustre-capacity-gib=1200",
]
EFS = ["--efs-file-system-id=fs-01234567", "--efs-access-point-id=fsap-0123456789abcdef0"]


def test_platform_with_volumes(tmp_path: Path, typed: Callable[..., tuple[int, str, str]]) -> None:
    code, _, errors = typed("platform", "mpi-operator", *LUSTRE, *EFS, "--namespace=team")
    assert (code, errors) == (0, "")
    names = {"efs-volume", "lustre-volume", "mpi-job-definition", "mpi-operator"}
    assert names_in(tmp_path / "dist") == names
    text = (tmp_path / "dist/lustre-volume.k8s.yaml").read_text()
    assert "volumeHandle: fs-0123456789abcdef0" in text
    assert "storage: 1200Gi" in text
    assert "namespace: team" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            LUSTRE[:3],
            "'--lustre-capacity-gib' is missing; a volume needs --lustre-file-system-id, --lustre-dns-name, "
            "--lustre-mount-name, --lustre-capacity-gib, and 'aws fsx describe-file-systems' shows the values",
        ),
        (
            LUSTRE[:2],
            "'--lustre-mount-name' and '--lustre-capacity-gib' are missing; a volume needs --lustre-file-system-id, "
            "--lustre-dns-name, --lustre-mount-name, --lustre-capacity-gib, and 'aws fsx describe-file-systems' shows "
            "the values",
        ),
        (
            EFS[:1],
            "'--efs-access-point-id' is missing; a volume needs --efs-file-system-id, --efs-access-point-id, and "
            "'aws efs describe-access-points' shows the values",
        ),
        (
            [*LUSTRE[:3], "--lustre-capacity-gib=0"],
            "'--lustre-capacity-gib' is 0; give 1 or more",
        ),
        (
            [EFS[0], "--efs-access-point-id=fs-01234567"],
            "'--efs-access-point-id' is 'fs-01234567'; give 'fsap-' and 8 or more digits and letters from a to f, at "
            "most 40",
        ),
        (
            ["operator"],
            "'part' is 'operator', which is not known; did you mean mpi-operator? known: efa-device-plugin, "
            "mpi-operator, nvidia-device-plugin",
        ),
        (
            [*LUSTRE, "--namespace=A"],
            "'--namespace' is 'A'; give lower-case letters, digits and '-', at most 63",
        ),
        (
            ["--gang-scheduler=A"],
            "'--gang-scheduler' is 'A'; give lower-case letters, digits and '-', at most 63",
        ),
        (
            ["--mirror=docker.io"],
            "'--mirror' is 'docker.io'; give the address of an ECR registry with or without a prefix, such as "
            "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror",
        ),
    ],
)
def test_a_mistake_about_the_platform_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, typed: Callable[..., tuple[int, str, str]]
) -> None:
    assert typed("platform", *arguments) == (2, "", f"error: {message}\n")
    assert not (tmp_path / "dist").exists()


def test_old_jobs_beside_the_platform_are_told(tmp_path: Path, typed: Callable[..., tuple[int, str, str]]) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/digits-p3.k8s.yaml").write_text("kind: MPIJob\n")
    code, output, errors = typed("platform")
    assert (code, output) == (2, "")
    assert errors.startswith(
        "error: '--outdir' is 'dist', where 'kubectl apply -f dist' would apply digits-p3.k8s.yaml too; remove or move "
    )


def test_render_derives_a_job_from_a_recipe(tmp_path: Path) -> None:
    options = ["--name=mine", "--workers=4", "--gpus-per-worker=2", "--image=repo/image:3", "--namespace=team"]
    result = program("render", "digits-p3", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    job, policy = yaml.safe_load_all((tmp_path / "dist/jobs/mine.k8s.yaml").read_text())
    assert job["metadata"] == policy["metadata"] == {"name": "mine", "namespace": "team"}
    container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert container["image"] == "repo/image:3"
    assert container["command"][container["command"].index("-np") + 1] == "8"


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
        (["digits-p3", "--image="], "'--image' is ''; give the image's address, such as <repository>:<tag>"),
        (
            ["--name=x"],
            f"'--name' is 'x' but {len(RECIPES) - len(NEEDS)} recipes are rendered; name one recipe",
        ),
        (
            ["digit-p3"],
            "'recipe' is 'digit-p3', which is not known; did you mean digits-p3 or digits-p5 or digits-p4d?",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str, typed: Callable[..., tuple[int, str, str]]) -> None:
    assert typed("render", *arguments) == (2, "", f"error: {message}\n")
