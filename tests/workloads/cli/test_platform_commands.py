from pathlib import Path

import pytest

from tests.workloads.cli.conftest import Command, names_in

LUSTRE = [
    "--lustre-file-system-id=fs-0123456789abcdef0",
    "--lustre-dns-name=fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
    "--lustre-mount-name=abcd1234",
    "--lustre-capacity-gib=1200",
]
EFS = ["--efs-file-system-id=fs-01234567", "--efs-access-point-id=fsap-0123456789abcdef0"]


def test_platform_and_jobs_have_separate_folders(tmp_path: Path, command: Command) -> None:
    code, output, errors = command("platform", "render")
    assert (code, errors) == (0, "")
    parts = ["efa-device-plugin", "mpi-job-definition", "mpi-operator", "nvidia-device-plugin"]
    assert output.split() == [f"dist/platform/{part}.k8s.yaml" for part in parts]
    assert command("render", "digits").out == "dist/jobs/digits.k8s.yaml\n"
    code, _, errors = command("platform", "render", "mpi-operator", "efa-device-plugin")
    assert (code, errors) == (0, "removed dist/platform/nvidia-device-plugin.k8s.yaml, which is not among the parts\n")
    assert names_in(tmp_path / "dist/platform") == {"efa-device-plugin", "mpi-job-definition", "mpi-operator"}


def test_platform_with_volumes(tmp_path: Path, command: Command) -> None:
    code, _, errors = command("platform", "render", "mpi-operator", *LUSTRE, *EFS, "--namespace=team")
    assert (code, errors) == (0, "")
    volumes = {"efs-volume", "lustre-folders", "lustre-volume"}
    assert names_in(tmp_path / "dist/platform") == {*volumes, "mpi-job-definition", "mpi-operator"}
    text = (tmp_path / "dist/platform/lustre-volume.k8s.yaml").read_text()
    assert "volumeHandle: fs-0123456789abcdef0" in text
    assert "storage: 1200Gi" in text
    assert "namespace: team" in text


def test_a_volume_needs_all_its_options(tmp_path: Path, command: Command) -> None:
    needed = "--lustre-file-system-id, --lustre-dns-name, --lustre-mount-name, --lustre-capacity-gib"
    end = f"is missing, but a volume needs {needed}; run 'aws fsx describe-file-systems' for its value"
    code, output, errors = command("platform", "render", *LUSTRE[:2], EFS[0])
    assert (code, output) == (2, "")
    assert errors.splitlines() == [f"error: '--lustre-mount-name' {end}", f"error: '--lustre-capacity-gib' {end}"]
    assert command("platform", "render", EFS[0]).err == (
        "error: '--efs-access-point-id' is missing, but a volume needs --efs-file-system-id, --efs-access-point-id; "
        "run 'aws efs describe-access-points' for its value\n"
    )
    assert not (tmp_path / "dist/platform").exists()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([*LUSTRE[:3], "--lustre-capacity-gib=0"], "--lustre-capacity-gib"),
        ([EFS[0], "--efs-access-point-id=fs-01234567"], "--efs-access-point-id"),
        (["operator"], "PART"),
        ([*LUSTRE, "--namespace=A"], "--namespace"),
        (["--gang-scheduler=A"], "--gang-scheduler"),
        (["--mirror=docker.io"], "--mirror"),
    ],
)
def test_a_problem_with_the_platform_has_the_name_of_its_option(
    arguments: list[str], name: str, tmp_path: Path, command: Command
) -> None:
    code, output, errors = command("platform", "render", *arguments)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"error: '{name}' is ")
    assert not (tmp_path / "dist/platform").exists()


def test_rejects_old_jobs_in_the_folder_of_the_platform(tmp_path: Path, command: Command) -> None:
    (tmp_path / "dist/platform").mkdir(parents=True)
    (tmp_path / "dist/platform/digits.k8s.yaml").write_text("kind: MPIJob\n")
    code, output, errors = command("platform", "render")
    assert (code, output) == (2, "")
    assert errors.startswith(
        "error: '--outdir' is 'dist/platform', but 'kubectl apply -f dist/platform' would apply digits.k8s.yaml"
    )


def test_size_lustre(command: Command) -> None:
    assert command("platform", "size-lustre", "--images-per-second=20000", "--bytes-per-image=110000") == (
        0,
        "Lustre: 20,000 images/s x 110 kB = 2,200 MB/s: 2400 GiB at 1000 MB/s per TiB, which sustains 2,344 MB/s\n",
        "",
    )
    code, _, errors = command("platform", "size-lustre", "--images-per-second=0", "--bytes-per-image=110000")
    assert code == 2
    assert errors.startswith("error: '--images-per-second' is 0.0; ")


def test_mirror_commands(command: Command) -> None:
    registry = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    code, output, errors = command("platform", "mirror-commands", registry)
    assert (code, errors) == (0, "")
    assert registry in output
    assert command("platform", "mirror-commands", "docker.io").err.startswith("error: 'REGISTRY' is 'docker.io'; ")
    errors = command("platform", "mirror-commands", registry, "--kubernetes-version=1.2").err
    assert errors.startswith("error: '--kubernetes-version' is '1.2'; ")
