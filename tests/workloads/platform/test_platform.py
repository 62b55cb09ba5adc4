import json
from typing import Any

import cdk8s
import jsonschema
import kubernetes_validate
import pytest

from tests.schemas import check_manifest, check_mpi_job
from training_workloads import InputError, LustreVolumeChart, MpiJobDefinitionChart, MpiOperatorChart
from training_workloads.mpijob.definition import mpi_job_definition

# kubectl keeps the applied manifest in an annotation; all annotations of an object have at most this size together:
# https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/validation/objectmeta.go
CLIENT_SIDE_APPLY_LIMIT = 256 * 1024
# CloudFormation sends the manifest to the kubectl handler in an asynchronous call of AWS Lambda, at an update with the
# former one: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LAMBDA_EVENT_LIMIT = 1_000_000

CONTAINER = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def job(**spec: Any) -> dict[str, Any]:
    replicas = {"Launcher": {"template": CONTAINER}, "Worker": {"replicas": 1, "template": CONTAINER}}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "j"},
        "spec": {"mpiReplicaSpecs": replicas, **spec},
    }


@pytest.fixture(scope="module")
def operator() -> dict[str, dict[str, Any]]:
    documents = cdk8s.Testing.synth(MpiOperatorChart(cdk8s.App(), "Operator"))
    return {f"{document['kind']}/{document['metadata']['name']}": document for document in documents}


def test_every_platform_manifest_is_valid() -> None:
    app = cdk8s.App()
    lustre = LustreVolumeChart(
        app, "Lustre", file_system_id="fs-1", dns_name="fs-1.fsx.aws", mount_name="abc", capacity_gib=1200
    )
    for chart in (MpiJobDefinitionChart(app, "Definition"), MpiOperatorChart(app, "Operator"), lustre):
        documents = cdk8s.Testing.synth(chart)
        assert documents
        for document in documents:
            check_manifest(document)


def test_the_definition_fits_client_side_apply_and_an_update_by_cloudformation() -> None:
    manifest = json.dumps(mpi_job_definition(), separators=(",", ":"))
    assert len(manifest) < 0.65 * CLIENT_SIDE_APPLY_LIMIT
    # A string within JSON: each quote takes two characters.
    assert 2 * len(json.dumps(manifest)) < 0.4 * LAMBDA_EVENT_LIMIT


def test_the_state_of_a_job_is_its_newest_condition() -> None:
    columns = mpi_job_definition()["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == ["Running", "Suspended", "Succeeded", "Failed", "Age"]
    assert columns[0]["jsonPath"] == '.status.conditions[?(@.type=="Running")].status'


def test_the_definition_accepts_a_minimal_job() -> None:
    check_mpi_job(job())


@pytest.mark.parametrize(
    "wrong",
    [
        {"launcherCreationPolicy": "Whenever"},
        {"slotsPerWorker": -1},
        {"slotPerWorker": 8},
        {"mpiImplementation": "OpenMpi"},
        {"runPolicy": {"cleanPodPolicy": "Always"}},
        {"runPolicy": {"suspended": True}},
        {"runPolicy": {"schedulingPolicy": {"minAvailable": {"value": 8}}}},
        {"mpiReplicaSpecs": {"Worker": {"replicas": 1, "template": CONTAINER}}},
        {"mpiReplicaSpecs": {"Launcher": {"replicas": 2, "template": CONTAINER}}},
        {"mpiReplicaSpecs": {"Launcher": {"restartPolicy": "Always", "template": CONTAINER}}},
        {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": [{"name": "c", "imag": "i"}]}}}}},
    ],
)
def test_the_definition_rejects_a_wrong_job(wrong: dict[str, Any]) -> None:
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        check_mpi_job(job(**wrong))


def test_the_operator_may_update_the_status_of_launcher_jobs(operator: dict[str, dict[str, Any]]) -> None:
    rules = operator["ClusterRole/mpi-operator"]["rules"]
    (rule,) = [rule for rule in rules if rule["resources"] == ["jobs/status"]]
    assert rule == {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["get", "patch", "update"]}


def test_the_lock_of_the_operator_is_in_its_namespace(operator: dict[str, dict[str, Any]]) -> None:
    deployment = operator["Deployment/mpi-operator"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "mpioperator/mpi-operator:0.8.2"
    assert f"--lock-namespace={deployment['metadata']['namespace']}" in container["args"]


def test_the_operator_makes_gangs_for_the_scheduler_that_is_named(operator: dict[str, dict[str, Any]]) -> None:
    (container,) = operator["Deployment/mpi-operator"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["-alsologtostderr", "--lock-namespace=mpi-operator"]
    documents = cdk8s.Testing.synth(MpiOperatorChart(cdk8s.App(), "Operator", gang_scheduler="volcano"))
    (deployment,) = [document for document in documents if document["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] == "--gang-scheduling=volcano"


def test_rejects_an_invalid_name_of_a_gang_scheduler() -> None:
    with pytest.raises(InputError) as caught:
        MpiOperatorChart(cdk8s.App(), "Operator", gang_scheduler="Volcano!")
    assert str(caught.value) == "'gang_scheduler' is 'Volcano!'; give lower-case letters, digits and '-', at most 63"


def test_cluster_scoped_objects_have_no_namespace(operator: dict[str, dict[str, Any]]) -> None:
    for name in ("Namespace/mpi-operator", "ClusterRole/mpi-operator", "ClusterRoleBinding/mpi-operator"):
        assert "namespace" not in operator[name]["metadata"]


def test_the_lustre_volume_is_static_and_retained() -> None:
    chart = LustreVolumeChart(
        cdk8s.App(), "Lustre", file_system_id="fs-1", dns_name="fs-1.fsx.aws", mount_name="abc", capacity_gib=2400
    )
    volume, claim = cdk8s.Testing.synth(chart)
    assert volume["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "2400Gi"},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": "training-lustre",
            "namespace": "default",
        },
        "csi": {
            "driver": "fsx.csi.aws.com",
            "volumeHandle": "fs-1",
            "volumeAttributes": {"dnsname": "fs-1.fsx.aws", "mountname": "abc"},
        },
        "mountOptions": ["flock"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
    }
    assert claim["metadata"] == {"name": "training-lustre", "namespace": "default"}
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert claim["spec"]["storageClassName"] == ""
    # A claim of a static volume cannot be resized: its request stays whatever the capacity is.
    assert claim["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
