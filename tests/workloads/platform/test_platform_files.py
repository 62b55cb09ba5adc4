"""The folder of the platform can be applied as a whole, in any order of its files."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.schemas import check_manifest
from training_workloads import InputError
from training_workloads.platform.file_systems import EfsAttributes, LustreAttributes
from training_workloads.platform.platform_spec import PARTS, PLATFORM_FILES, PlatformSpec
from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs, render_platform

EVERYTHING = PlatformSpec(
    lustre=LustreAttributes(
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        mount_name="abcd1234",
        capacity_gib=1200,
    ),
    efs=EfsAttributes(file_system_id="fs-01234567", access_point_id="fsap-0123456789abcdef0"),
)

# They exist before anything is applied.
EXISTING_NAMESPACES = {"default", "kube-system"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("platform")
    written, removed = render_platform(EVERYTHING, folder)
    assert removed == []
    assert sorted(folder.iterdir()) == written
    return {path.name: list(yaml.safe_load_all(path.read_text())) for path in written}


def test_everything_has_a_file(files: dict[str, list[dict[str, Any]]]) -> None:
    assert sorted(files) == sorted(PLATFORM_FILES)
    assert sorted(PLATFORM_FILES) == [
        "efa-device-plugin.k8s.yaml",
        "efs-volume.k8s.yaml",
        "lustre-folders.k8s.yaml",
        "lustre-volume.k8s.yaml",
        "mpi-job-definition.k8s.yaml",
        "mpi-operator.k8s.yaml",
        "nvidia-device-plugin.k8s.yaml",
    ]


def test_every_object_is_valid_and_as_reviewed(
    files: dict[str, list[dict[str, Any]]], snapshot: SnapshotAssertion
) -> None:
    for documents in files.values():
        assert documents
        for document in documents:
            check_manifest(document)
    # The definition is generated from the types of the jobs, and has other tests.
    assert {name: documents for name, documents in files.items() if name != "mpi-job-definition.k8s.yaml"} == snapshot


def test_no_object_needs_the_definition_first(files: dict[str, list[dict[str, Any]]]) -> None:
    groups = {document["apiVersion"].rpartition("/")[0] for documents in files.values() for document in documents}
    (definition,) = files["mpi-job-definition.k8s.yaml"]
    assert definition["spec"]["group"] == "kubeflow.org"
    assert groups == {"", "apps", "batch", "apiextensions.k8s.io", "rbac.authorization.k8s.io"}


def test_no_file_needs_a_namespace_of_another(files: dict[str, list[dict[str, Any]]]) -> None:
    for documents in files.values():
        known = set(EXISTING_NAMESPACES)
        for document in documents:
            if document["kind"] == "Namespace":
                known.add(document["metadata"]["name"])
            assert document["metadata"].get("namespace", "default") in known


def test_no_object_is_in_two_files(files: dict[str, list[dict[str, Any]]]) -> None:
    objects = [
        (document["kind"], document["metadata"].get("namespace"), document["metadata"]["name"])
        for documents in files.values()
        for document in documents
    ]
    assert len(objects) == len(set(objects))


@pytest.mark.parametrize("part", PARTS)
def test_each_part_by_itself(part: str, tmp_path: Path) -> None:
    written, _ = render_platform(PlatformSpec(parts=(part, part)), tmp_path)
    expected = {f"{part}.k8s.yaml"} | ({"mpi-job-definition.k8s.yaml"} if part == "mpi-operator" else set())
    assert {path.name for path in written} == {path.name for path in tmp_path.iterdir()} == expected


def test_the_file_of_a_part_that_is_omitted_is_removed(tmp_path: Path) -> None:
    render_platform(PlatformSpec(), tmp_path)
    _, removed = render_platform(PlatformSpec(parts=("mpi-operator", "efa-device-plugin")), tmp_path)
    assert removed == [tmp_path / "nvidia-device-plugin.k8s.yaml"]
    assert not removed[0].exists()


def test_the_claims_are_in_the_namespace_of_the_jobs_and_images_come_from_the_mirror(tmp_path: Path) -> None:
    spec = PlatformSpec(parts=(), lustre=EVERYTHING.lustre, efs=EVERYTHING.efs, namespace="team", mirror="ecr/m")
    written, _ = render_platform(spec, tmp_path)
    documents = [document for path in written for document in yaml.safe_load_all(path.read_text())]
    claims = [document for document in documents if document["kind"] == "PersistentVolumeClaim"]
    assert [claim["metadata"]["namespace"] for claim in claims] == ["team", "training-system", "team"]
    (job,) = [document for document in documents if document["kind"] == "Job"]
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == (
        "ecr/m/busybox:1.37.0@sha256:bdf57e528e45e4433820e045b29b4597825a1c9e38353532d90a01445013f82e"
    )


def test_rejects_an_unknown_part() -> None:
    with pytest.raises(InputError) as caught:
        PlatformSpec(parts=("operator",))
    assert str(caught.value) == (
        "'part' is 'operator', but it is not known; did you mean mpi-operator? known: efa-device-plugin, mpi-operator, "
        "nvidia-device-plugin"
    )


def test_rejects_a_folder_with_other_manifests(tmp_path: Path) -> None:
    (tmp_path / "digits.k8s.yaml").write_text("kind: MPIJob\n")
    (tmp_path / "mine.json").write_text("{}")
    (tmp_path / "library.whl").write_text("")
    (tmp_path / "jobs").mkdir()
    with pytest.raises(InputError) as caught:
        render_platform(PlatformSpec(), tmp_path)
    assert str(caught.value) == (
        f"'outdir' is '{tmp_path}', but 'kubectl apply -f {tmp_path}' would apply digits.k8s.yaml, mine.json too; "
        "remove or move other manifests ('trainctl render' writes jobs into dist/jobs), or give another "
        "folder"
    )
    assert not (tmp_path / "mpi-operator.k8s.yaml").exists()


def test_rejects_jobs_in_the_folder_of_the_platform(tmp_path: Path) -> None:
    render_platform(PlatformSpec(parts=("mpi-operator",)), tmp_path)
    with pytest.raises(InputError) as caught:
        render_jobs([recipe("digits")], tmp_path)
    assert str(caught.value) == (
        f"'outdir' is '{tmp_path}', but it is the folder of the platform (mpi-job-definition.k8s.yaml, "
        "mpi-operator.k8s.yaml), "
        "which is applied as a whole; give a folder for jobs, such as dist/jobs"
    )
    assert not (tmp_path / "digits.k8s.yaml").exists()


def test_rejects_two_jobs_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^'name' is 'x', but another manifest has it; choose another name$"):
        render_jobs([recipe("digits", "x"), recipe("digits-p4d", "x")], tmp_path)
