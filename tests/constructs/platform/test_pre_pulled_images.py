import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from tests.constructs.instance_types import DISKLESS
from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import PrePulledImages, TrainingCluster
from training_workloads import InputError
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.nodes import image_disk_gb

IMAGES = ["111122223333.dkr.ecr.us-west-2.amazonaws.com/training:1", "busybox:1.37"]


def daemon_set(site: Site) -> dict[str, Any]:
    (manifest,) = properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")
    (document,) = json.loads(manifest["Manifest"])
    check_manifest(document)
    return dict(document)


def test_every_gpu_node_pulls_the_images_and_gives_no_gpu_for_them(site: Site) -> None:
    PrePulledImages(site.stack, "Images", cluster=site.cluster, images=IMAGES)
    found = daemon_set(site)
    pod = found["spec"]["template"]["spec"]
    assert found["kind"] == "DaemonSet"
    assert [container["image"] for container in pod["containers"]] == IMAGES
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    # Not the system nodes: what stays there fills their disks.
    assert pod["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    for container in pod["containers"]:
        assert container["command"] == ["sleep", "infinity"]
        assert container["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
        assert "nvidia.com/gpu" not in str(container["resources"])


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ("training:1", "'images' is 'training:1'; give a list: ['training:1']"),
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


@pytest.mark.parametrize(
    ("instance_type", "most"),
    # A local disk of 125 GB, a root volume of 200 GiB, local disks of 8,000 GB.
    [("g4dn.xlarge", 5), (DISKLESS, 9), ("p4d.24xlarge", 100)],
)
def test_warns_of_more_images_than_the_disk_takes(instance_type: str, most: int) -> None:
    assert warnings(instance_type, most) == []
    if instance_type == "g4dn.xlarge":
        (found,) = warnings(instance_type, most + 1)
        assert found.startswith(
            "6 images of 10 GB, each also in its next version, need 120 GB, more than 85 % of the disk of "
            "g4dn.xlarge (125 GB); name only the images that most jobs use"
        )


def warnings(instance_type: str, number: int) -> list[str]:
    stack = cdk.Stack(cdk.App(), "Stack")
    cluster = TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    cluster.add_gpu_node_group("gpu", instance_type=instance_type)
    images = cluster.add_pre_pulled_images("Images", images=[f"training:{tag}" for tag in range(number)])
    return [str(each.data) for each in images.node.metadata if each.type == "aws:cdk:warning"]


def test_one_image_in_two_versions_fits_on_every_type() -> None:
    smallest = min(image_disk_gb(each) for each in INSTANCE_TYPES.values() if each.gpu)
    assert smallest * 0.85 > 20
