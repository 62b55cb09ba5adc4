from typing import Any

import cdk8s
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.schemas import check_manifest
from training_workloads import EfaDevicePluginChart, NvidiaDevicePluginChart

Chart = type[EfaDevicePluginChart] | type[NvidiaDevicePluginChart]

BOTH = pytest.mark.parametrize("chart", [EfaDevicePluginChart, NvidiaDevicePluginChart])


def daemon_set(chart: Chart, mirror: str | None = None) -> dict[str, Any]:
    (document,) = cdk8s.Testing.synth(chart(cdk8s.App(), "Plugin", mirror=mirror))
    return dict(document)


def pod(chart: Chart) -> dict[str, Any]:
    return dict(daemon_set(chart)["spec"]["template"]["spec"])


@BOTH
def test_it_is_valid_and_as_reviewed(chart: Chart, snapshot: SnapshotAssertion) -> None:
    document = daemon_set(chart)
    check_manifest(document)
    assert document == snapshot


@BOTH
def test_it_runs_on_gpu_nodes_with_any_taint(chart: Chart) -> None:
    assert pod(chart)["tolerations"] == [{"operator": "Exists"}]
    assert pod(chart)["priorityClassName"] == "system-node-critical"


@pytest.mark.parametrize(
    ("chart", "label"),
    [
        (NvidiaDevicePluginChart, {"nvidia.com/gpu.present": "true"}),
        (EfaDevicePluginChart, {"vpc.amazonaws.com/efa.present": "true"}),
    ],
)
def test_it_runs_only_where_the_device_is(chart: Chart, label: dict[str, str]) -> None:
    assert pod(chart)["nodeSelector"] == label


@pytest.mark.parametrize(
    ("chart", "folders"),
    [
        (NvidiaDevicePluginChart, {"/var/lib/kubelet/device-plugins"}),
        (EfaDevicePluginChart, {"/var/lib/kubelet/device-plugins", "/dev/infiniband", "/opt/aws/neuron"}),
    ],
)
def test_the_pod_mounts_only_its_folders_of_the_node(chart: Chart, folders: set[str]) -> None:
    spec = pod(chart)
    assert {volume["hostPath"]["path"] for volume in spec["volumes"]} == folders
    (container,) = spec["containers"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == folders
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
    assert all(paths[mount["name"]] == mount["mountPath"] for mount in container["volumeMounts"])


def test_only_the_efa_plugin_has_the_rights_of_the_node() -> None:
    (nvidia,), (efa,) = pod(NvidiaDevicePluginChart)["containers"], pod(EfaDevicePluginChart)["containers"]
    assert nvidia["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert efa["securityContext"] == {"allowPrivilegeEscalation": True, "privileged": True, "runAsUser": 0}
    assert "hostNetwork" not in pod(NvidiaDevicePluginChart)
    assert pod(EfaDevicePluginChart)["hostNetwork"] is True


@pytest.mark.parametrize(
    ("chart", "name", "image"),
    [
        (NvidiaDevicePluginChart, "nvidia-device-plugin", "k8s-device-plugin:v0.20.1"),
        (EfaDevicePluginChart, "aws-efa-k8s-device-plugin", "aws-efa-k8s-device-plugin:v0.5.20"),
    ],
)
def test_the_image_comes_from_the_mirror(chart: Chart, name: str, image: str) -> None:
    document = daemon_set(chart, "111122223333.dkr.ecr.us-west-2.amazonaws.com/m")
    assert document["metadata"]["name"] == name
    (container,) = document["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"111122223333.dkr.ecr.us-west-2.amazonaws.com/m/{image}"


@BOTH
def test_the_api_server_rejects_a_second_plugin_beside_the_helm_release(chart: Chart) -> None:
    """The stack's release has the same name and namespace, but other labels, and a selector cannot be changed."""
    document = daemon_set(chart)
    name = {"EfaDevicePluginChart": "aws-efa-k8s-device-plugin", "NvidiaDevicePluginChart": "nvidia-device-plugin"}
    assert document["metadata"]["namespace"] == "kube-system"
    assert document["metadata"]["name"] == name[chart.__name__]
    assert document["spec"]["selector"] == {"matchLabels": {"app.kubernetes.io/name": name[chart.__name__]}}
