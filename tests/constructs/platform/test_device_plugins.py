import json
from typing import Any

import pytest
from constructs import Construct

from tests.constructs.site import Site, properties
from training_cluster import EfaDevicePlugin, NvidiaDevicePlugin
from training_workloads import InputError


def chart(site: Site) -> tuple[dict[str, Any], dict[str, Any]]:
    (made,) = properties(site.template(), "Custom::AWSCDK-EKS-HelmChart")
    values = made["Values"]
    parts = values["Fn::Join"][1] if isinstance(values, dict) else [values]
    return made, json.loads("".join(part if isinstance(part, str) else "<registry>" for part in parts))


def test_nvidias_plugin_tolerates_the_taint_of_the_node_groups(site: Site) -> None:
    NvidiaDevicePlugin(site.stack, "Plugin", cluster=site.cluster)
    made, values = chart(site)
    assert (made["Chart"], made["Version"]) == ("nvidia-device-plugin", "0.20.1")
    assert (made["Release"], made["Namespace"]) == ("nvidia-device-plugin", "kube-system")
    assert values == {
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "image": {"tag": "v0.20.1"},
    }


def test_the_efa_plugin_runs_on_nodes_with_efa_only(site: Site) -> None:
    EfaDevicePlugin(site.stack, "Plugin", cluster=site.cluster)
    made, values = chart(site)
    assert (made["Chart"], made["Version"]) == ("aws-efa-k8s-device-plugin", "v0.5.30")
    assert values["nodeSelector"] == {"vpc.amazonaws.com/efa.present": "true"}
    assert values["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    # The chart's own list of types lacks those that are newer than it.
    assert values["supportedInstanceLabels"] == {"keys": ["vpc.amazonaws.com/efa.present"], "values": ["true"]}
    assert values["image"] == {"tag": "v0.5.20", "repository": "<registry>/eks/aws-efa-k8s-device-plugin"}


def test_chart_and_image_come_from_a_mirror(site: Site) -> None:
    mirror = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"
    NvidiaDevicePlugin(site.stack, "Plugin", cluster=site.cluster, mirror=mirror)
    made, values = chart(site)
    assert made["Repository"] == f"oci://{mirror}/nvidia-device-plugin"
    assert values["image"] == {"tag": "v0.20.1", "repository": f"{mirror}/k8s-device-plugin"}


def test_rejects_a_second_plugin(site: Site) -> None:
    NvidiaDevicePlugin(site.stack, "Plugin", cluster=site.cluster)
    EfaDevicePlugin(site.stack, "EfaPlugin", cluster=site.cluster)
    with pytest.raises(InputError) as caught:
        NvidiaDevicePlugin(Construct(site.stack, "Other"), "Plugin", cluster=site.cluster)
    assert str(caught.value) == (
        "'Site/Other/Plugin' is 'a second plugin for nvidia.com/gpu', but Site/Plugin owns that of the cluster; "
        "remove one of the two"
    )
