import re
from typing import Any

import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import LustreFoldersChart
from training_workloads.platform.lustre_folders import OwnedFolder

LUSTRE: dict[str, Any] = {
    "file_system_id": "fs-1",
    "dns_name": "fs-1.fsx.aws",
    "mount_name": "abc",
    "capacity_gib": 2400,
}


def made(**options: Any) -> list[dict[str, Any]]:
    return cdk8s.Testing.synth(LustreFoldersChart(cdk8s.App(), "Folders", **LUSTRE, **options))


def script(**options: Any) -> str:
    (container,) = made(**options)[-1]["spec"]["template"]["spec"]["containers"]
    return str(container["command"][-1])


def test_a_job_as_root_in_a_separate_namespace() -> None:
    namespace, volume, claim, job = documents = made()
    for document in documents:
        check_manifest(document)
    assert namespace["metadata"]["name"] == "training-system"
    assert volume["metadata"]["name"] == "training-lustre-training-system"
    assert volume["spec"]["csi"]["volumeAttributes"] == {"dnsname": "fs-1.fsx.aws", "mountname": "abc"}
    assert claim["metadata"] == {"name": "training-lustre", "namespace": "training-system"}
    assert job["metadata"]["namespace"] == "training-system"
    assert re.fullmatch(r"training-lustre-ownership-[0-9a-f]{8}", job["metadata"]["name"])
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600
    (mounted,) = job["spec"]["template"]["spec"]["volumes"]
    assert mounted["persistentVolumeClaim"] == {"claimName": "training-lustre"}


def test_pod_security_admits_the_job_and_nothing_more() -> None:
    namespace, *_, job = made()
    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "baseline"}
    # Those that `baseline` allows: https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]}


def test_the_folders_of_the_jobs_user_by_default() -> None:
    assert script() == (
        "mkdir -p /volume/data && chown 1000:1000 /volume/data && mkdir -p /volume/runs && chown 1000:1000 /volume/runs"
    )


def test_a_folder_with_an_owner_and_permissions() -> None:
    folder = OwnedFolder(path="teams/vision", user_id=1001, mode="0770")
    assert script(folders=[folder]) == (
        "mkdir -p /volume/teams/vision && chown 1001:1001 /volume/teams/vision && chmod 0770 /volume/teams/vision"
    )


@pytest.mark.parametrize("path", ["teams/a b", "teams/$(id)", "teams/x;id"])
def test_a_folder_is_no_shell_code(path: str) -> None:
    assert script(folders=[OwnedFolder(path=path)]).startswith(f"mkdir -p '/volume/{path}' &&")


def test_what_the_job_does_is_in_its_name() -> None:
    first, second = (made(folders=[OwnedFolder(path=path)])[-1]["metadata"]["name"] for path in ("a", "b"))
    assert first != second
