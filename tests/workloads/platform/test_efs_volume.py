import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import InputError
from training_workloads.platform.volumes import EfsVolumeChart


def test_the_volume_is_static_encrypted_and_retained() -> None:
    chart = EfsVolumeChart(cdk8s.App(), "Efs", file_system_id="fs-1", access_point_id="fsap-2")
    volume, claim = documents = cdk8s.Testing.synth(chart)
    for document in documents:
        check_manifest(document)
    assert volume["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "1Gi"},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": "training-efs",
            "namespace": "default",
        },
        "csi": {
            "driver": "efs.csi.aws.com",
            "volumeHandle": "fs-1::fsap-2",
            "volumeAttributes": {"encryptInTransit": "true"},
        },
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
    }
    assert volume["metadata"]["name"] == "training-efs"
    assert claim["metadata"] == {"name": "training-efs", "namespace": "default"}
    assert claim["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
        "volumeName": "training-efs",
    }


def test_another_claim_in_another_namespace() -> None:
    chart = EfsVolumeChart(
        cdk8s.App(), "Efs", file_system_id="fs-1", access_point_id="fsap-2", claim="notebooks", namespace="research"
    )
    volume, claim = cdk8s.Testing.synth(chart)
    assert volume["metadata"]["name"] == claim["spec"]["volumeName"] == "notebooks-research"
    assert claim["metadata"] == {"name": "notebooks", "namespace": "research"}


def test_rejects_a_name_that_kubernetes_rejects() -> None:
    with pytest.raises(InputError) as caught:
        EfsVolumeChart(cdk8s.App(), "Efs", file_system_id="fs-1", access_point_id="fsap-2", namespace="A B")
    assert str(caught.value) == "'namespace' is 'A B'; give lower-case letters, digits and '-', at most 63"
