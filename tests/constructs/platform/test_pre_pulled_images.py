import json
from typing import Any

import pytest

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import PrePulledImages
from training_workloads import InputError

IMAGES = ["111122223333.dkr.ecr.us-west-2.amazonaws.com/training:1", "busybox:1.37"]


def daemon_set(site: Site) -> dict[str, Any]:
    (manifest,) = properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")
    (document,) = json.loads(manifest["Manifest"])
    check_manifest(document)
    return dict(document)


def test_every_node_pulls_the_images_and_gives_no_gpu_for_them(site: Site) -> None:
    PrePulledImages(site.stack, "Images", cluster=site.cluster, images=IMAGES)
    found = daemon_set(site)
    pod = found["spec"]["template"]["spec"]
    assert found["kind"] == "DaemonSet"
    assert [container["image"] for container in pod["containers"]] == IMAGES
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert "nodeSelector" not in pod
    for container in pod["containers"]:
        assert container["command"] == ["sleep", "infinity"]
        assert container["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
        assert "nvidia.com/gpu" not in str(container["resources"])


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ("training:1", "'images' is 'training:1'; give a list: [training:1]"),
        ([], "'images' is []; give the address of an image"),
        (["busybox", "https://a/b:1"], "'images[1]' is 'https://a/b:1'; omit 'https://'"),
    ],
)
def test_rejects_what_no_node_can_pull(images: Any, message: str, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        PrePulledImages(site.stack, "Images", cluster=site.cluster, images=images)
    assert str(caught.value) == message


def test_rejects_a_second_list_for_a_cluster(site: Site) -> None:
    PrePulledImages(site.stack, "Images", cluster=site.cluster, images=IMAGES)
    with pytest.raises(InputError, match="a second pre-pulled images"):
        PrePulledImages(site.stack, "Others", cluster=site.cluster, images=IMAGES)
