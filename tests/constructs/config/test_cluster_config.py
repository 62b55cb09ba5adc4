from typing import Any

import pytest

from training_cluster import ClusterConfig
from training_cluster.config import (
    ExistingEfsConfig,
    ExistingLustreConfig,
    ExistingVpcConfig,
    GpuNodeGroupConfig,
    JobIdentitySpec,
    JobQueueSpec,
    LustreConfig,
    SystemNodesSpec,
    TeamSpec,
)
from training_workloads import InputError

ZONES = ("us-east-1a", "us-east-1b")
RESOURCE_GROUP = "arn:aws:resource-groups:us-west-2:111122223333:group/training"
MIRROR = "111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror"

VPC = ExistingVpcConfig(
    vpc_id="vpc-0123456789abcdef0", private_subnet_ids=("subnet-0123456789abcdef0", "subnet-0123456789abcdef1")
)
EFS = ExistingEfsConfig(file_system_id="fs-0123456789abcdef0", access_point_id="fsap-0123456789abcdef0")
LUSTRE = ExistingLustreConfig(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", capacity_gib=2400)


def group(name: str = "gpu", **fields: Any) -> dict[str, GpuNodeGroupConfig]:
    return {name: GpuNodeGroupConfig(**{"instance_type": "p4d.24xlarge", **fields})}


# Texts of a construct's rules are tested there.
BROKEN: list[tuple[dict[str, Any], str]] = [
    (
        {"node_groups": {}},
        "'node_groups' is {}; add one, such as gpu: {instance_type: …, min_size: 0}",
    ),
    (
        {"node_groups": {f"gpu{number}": GpuNodeGroupConfig(instance_type="g5.xlarge") for number in range(31)}},
        "'node_groups' is 31 node groups, but the stack holds at most 30: CloudFormation accepts 500 resources and "
        "1 MB; define fewer, or a second cluster in another stack",
    ),
    ({"kubernetes_version": "1.29"}, "'kubernetes_version"),
    (
        {"teams": {"vision": TeamSpec(user_id=2001)}},
        "'job_queue' is missing, but teams get their GPUs from the queue; add 'job_queue: true'",
    ),
    (
        {"job_queue": JobQueueSpec(), "teams": {name: TeamSpec(user_id=2001) for name in ("vision", "speech")}},
        "'teams.speech.user_id' is 2001, but it is that of the team 'vision', whose files it owns; give each team "
        "another number",
    ),
    (
        {"job_queue": JobQueueSpec(), "teams": {"vision": TeamSpec(user_id=2001, gpus={"gpu": 9})}},
        "'teams.vision.gpus.gpu' is 9, but the node group 'gpu' has 8 GPUs at its max_size, and the teams have 9 by "
        "right (vision: 9); lower the GPUs of a team, or raise max_size: idle GPUs of others are borrowed in any case",
    ),
    (
        {"job_queue": JobQueueSpec(), "teams": {"Vision": {"user_id": 2001}}},
        "'teams.Vision' is 'Vision', but it is not valid as a name; use lower-case letters, digits and '-', at most 63",
    ),
    (
        {
            "job_queue": JobQueueSpec(),
            "teams": {"vision": TeamSpec(user_id=2001)},
            "service_accounts": {"train": JobIdentitySpec(prefix="/", namespace="vision")},
        },
        "'service_accounts.train.prefix' is '/', but its namespace is that of the team 'vision', which has the folder "
        "'teams/vision'; give that folder or one in it, such as teams/vision/runs",
    ),
    (
        {"node_groups": group(ami_release="1.34.2-20260917")},
        "'node_groups.gpu.ami_release' is '1.34.2-20260917', but kubernetes_version is '1.35'; give a release of 1.35 "
        "or 'latest', or change the version",
    ),
    (
        {"system_nodes": SystemNodesSpec(ami_release="1.34.2-20260917")},
        "'system_nodes.ami_release' is '1.34.2-20260917', but kubernetes_version is '1.35'; give a release of 1.35 or "
        "'latest', or change the version",
    ),
    ({"vpc_cidr": "10.0.0.0/8"}, "'vpc_cidr"),
    ({"availability_zones": ("us-east-1a",)}, "'availability_zones"),
    ({"public_access_cidrs": ("0.0.0.0/0",)}, "'public_access_cidrs"),
    ({"admin_arns": ("me",)}, "'admin_arns"),
    (
        {"gang_scheduler": "My Scheduler"},
        "'gang_scheduler' is 'My Scheduler'; give lower-case letters, digits and '-', at most 63",
    ),
    ({"mirror": "docker.io/mine"}, "'mirror"),
    (
        {"mirror": "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn", "availability_zones": ZONES},
        "'mirror' is '111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn', but cn-north-1 is of the partition aws-cn, "
        "and the cluster's us-east-1 of aws; give a registry of us-east-1",
    ),
    (
        {"mirror": "111122223333.dkr-ecr.us-east-1.on.aws", "nat": False},
        "'mirror' is '111122223333.dkr-ecr.us-east-1.on.aws', but nat: false needs the address for IPv4, the only one "
        "that interface endpoints serve; give the registry with .dkr.ecr. in its address",
    ),
    (
        {"nat": False},
        "'mirror' is missing, but nat: false needs it; run 'trainctl platform mirror-commands <ECR registry>' to see "
        "how to copy charts and images there",
    ),
    (
        {"mirror": "111122223333.dkr.ecr.eu-west-1.amazonaws.com", "nat": False, "availability_zones": ZONES},
        "'mirror' is '111122223333.dkr.ecr.eu-west-1.amazonaws.com', but it is in eu-west-1, and nat: false makes "
        "endpoints of us-east-1 only, the region of availability_zones; copy it to a registry of us-east-1, and give "
        "that address",
    ),
    (
        {
            "nat": False,
            "mirror": MIRROR,
            "availability_zones": ZONES,
            "pre_pull_images": (
                "111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
                "111122223333.dkr.ecr.eu-west-1.amazonaws.com/training:1",
            ),
        },
        "'pre_pull_images[1]' is '111122223333.dkr.ecr.eu-west-1.amazonaws.com/training:1', but it is in eu-west-1, "
        "and nat: false makes endpoints of us-east-1 only, the region of availability_zones; copy it to a registry of "
        "us-east-1, and give that address",
    ),
    (
        {
            "nat": False,
            "mirror": MIRROR,
            "pre_pull_images": ("111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1", "nvcr.io/nvidia/cuda:12"),
        },
        "'pre_pull_images[1]' is 'nvcr.io/nvidia/cuda:12', but nat: false leaves private repositories in ECR only, by "
        "their addresses with .dkr.ecr.; give the address of a copy in ECR of the cluster's region",
    ),
    (
        {"lustre": LustreConfig(availability_zone="us-east-1c"), "availability_zones": ZONES},
        "'lustre.availability_zone' is 'us-east-1c', but availability_zones is us-east-1a, us-east-1b; add the zone "
        "there, or omit lustre.availability_zone",
    ),
    (
        {
            "lustre": LustreConfig(availability_zone="us-east-1a"),
            "node_groups": group(availability_zone="us-east-1b"),
            "availability_zones": ZONES,
        },
        "'node_groups.gpu.availability_zone' is 'us-east-1b', but lustre.availability_zone is 'us-east-1a'; give all "
        "nodes and the file system one zone, or add the zone to lustre.further_zones for a second file system: EFA "
        "does not cross zones, and Lustre traffic between them is slow and costs money",
    ),
    (
        {
            "existing_vpc": VPC,
            "existing_lustre": LUSTRE,
            "node_groups": group(availability_zone="us-east-1a") | group("second", availability_zone="us-east-1b"),
            "availability_zones": ZONES,
        },
        "'node_groups.second.availability_zone' is 'us-east-1b', but node_groups.gpu.availability_zone is "
        "'us-east-1a'; give all nodes the zone of existing_lustre, or define a second cluster with the file system of "
        "that zone: EFA does not cross zones",
    ),
    (
        {"lustre": LustreConfig(further_zones=("us-east-1c",)), "availability_zones": ZONES},
        "'lustre.further_zones' is ['us-east-1c'], but availability_zones is us-east-1a, us-east-1b; add us-east-1c "
        "there",
    ),
    (
        {"lustre": LustreConfig(further_zones=("us-east-1a",)), "availability_zones": ZONES},
        "'lustre.further_zones' is ['us-east-1a']; omit us-east-1a: it has the first file system",
    ),
    (
        {"lustre": LustreConfig(further_zones=("us-east-1b",)), "availability_zones": ZONES},
        "'lustre.further_zones' is ['us-east-1b'], but no node group is in us-east-1b; give one 'availability_zone: "
        "us-east-1b', or omit the zone",
    ),
    (
        {"existing_vpc": VPC},
        "'availability_zones' is missing, but existing_vpc needs it; name the zones of private_subnet_ids, two or "
        "more, in the same order",
    ),
    (
        {"existing_vpc": VPC, "availability_zones": (*ZONES, "us-east-1c")},
        "'existing_vpc.private_subnet_ids' is ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'], but "
        "availability_zones is us-east-1a, us-east-1b, us-east-1c; give one subnet for each zone, in the same order",
    ),
    (
        {"existing_efs": EFS},
        "'existing_vpc' is missing, but existing_efs needs it; name the VPC of the file system",
    ),
    (
        {"existing_vpc": VPC, "existing_efs": EFS, "availability_zones": ZONES, "efs": True},
        "'efs' is True, but existing_efs names what exists; omit it",
    ),
    (
        {"existing_vpc": VPC, "availability_zones": ZONES, "nat": False, "mirror": MIRROR},
        "'nat' is False, but existing_vpc names what exists; omit it",
    ),
    (
        {"node_groups": group(capacity_reservation_id="cr-0123456789abcdef0")},
        "'node_groups.gpu.capacity_reservation_id' is 'cr-0123456789abcdef0', but availability_zones is empty; name "
        "two zones there, the zone of the reservation first",
    ),
    (
        {"node_groups": group(capacity_reservation_id=RESOURCE_GROUP), "availability_zones": ZONES},
        f"'node_groups.gpu.capacity_reservation_id' is '{RESOURCE_GROUP}', but availability_zones are of us-east-1; "
        "give a resource group of us-east-1, or the zones of us-west-2",
    ),
    (
        {"addon_versions": {"vpc-cin": "v1.20.4-eksbuild.1"}},
        "'addon_versions.vpc-cin' is 'v1.20.4-eksbuild.1', but no such add-on is used; did you mean vpc-cni?",
    ),
    (
        {"addon_versions": {"vpc-cni": "1.20.4"}},
        "'addon_versions.vpc-cni' is '1.20.4'; give a version of EKS, such as v1.20.4-eksbuild.1 (aws eks "
        "describe-addon-versions --addon-name vpc-cni)",
    ),
    (
        {"addon_versions": {"metrics-server": "v0.9.0-eksbuild.7"}},
        "'addon_versions.metrics-server' is 'v0.9.0-eksbuild.7', but this cluster does not have the add-on; omit it, "
        "or add the driver or the metrics server with its key (efs, ebs, metrics_server)",
    ),
    (
        {"node_groups": group(max_size=100), "vpc_cidr": "10.0.0.0/20"},
        "'vpc_cidr' is '10.0.0.0/20', but its subnets (/22) have 940 addresses for GPU nodes and their pods, and the "
        "node groups can take 2100 (gpu at max_size 100: 2100); give a larger range, fewer zones, or lower max_size",
    ),
    (
        {"pre_pull_images": ("training:1", "https://a/b:1")},
        "'pre_pull_images[1]' is 'https://a/b:1'; omit 'https://'",
    ),
    (
        {"node_groups": group("a" * 63 + "b") | group("a" * 63 + "c")},
        f"'node_groups.{'a' * 63}c' is '{'a' * 63}c', but its nodes would have the label '{'a' * 63}', as those of "
        f"'{'a' * 63}b': a label has at most 63 characters, and no '-' at its end; give one of the two another name",
    ),
    (
        {"node_groups": {"launchers": group()["gpu"]}, "job_queue": JobQueueSpec()},
        "'node_groups.launchers' is 'launchers', but the queue's flavor 'launchers' is that of the pods without GPUs; "
        "give the group another name",
    ),
    (
        {"node_groups": {**group(), "GPU": group()["gpu"]}, "job_queue": JobQueueSpec()},
        "'node_groups.GPU' is 'GPU', but another group has the flavor 'gpu', whose name is in lower case; give one of "
        "the two another name",
    ),
    (
        {"node_groups": group(max_size=4), "job_queue": JobQueueSpec(topology=True)},
        "'job_queue.topology' is True, but Kueue counts the nodes that run, and the node group 'gpu' has 0 to 4: no "
        "job would be admitted for nodes that the autoscaler could start; give min_size and max_size of the group one "
        "value, or omit topology",
    ),
    (
        {
            "node_groups": group(
                instance_type="p5.48xlarge",
                min_size=2,
                max_size=2,
                capacity_type="CAPACITY_BLOCK",
                capacity_reservation_id="cr-0123456789abcdef0",
            ),
            "availability_zones": ZONES,
            "job_queue": JobQueueSpec(topology=True),
        },
        "'job_queue.topology' is True, but it needs node groups of a fixed size, and the node group 'gpu' has no nodes "
        "before its Capacity Block starts, nor after it; omit topology, or define a second cluster for the block",
    ),
    ({"alarm_email": "the team"}, "'alarm_email"),
    (
        {"monthly_budget_usd": 0, "alarm_email": "team@example.com"},
        "'monthly_budget_usd' is 0; give 1 or more",
    ),
    (
        {"monthly_budget_usd": 1000},
        "'alarm_email' is missing, but monthly_budget_usd needs it; add the address that gets the messages",
    ),
]


@pytest.mark.parametrize(("fields", "message"), BROKEN)
def test_rejects_a_mistake_with_its_message(fields: dict[str, Any], message: str) -> None:
    fields = {"node_groups": group(), **fields}
    with pytest.raises(InputError) as error:
        ClusterConfig(**fields)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"node_groups": {"8 gpus": {"instance_type": "g5.xlarge"}}},
            "'node_groups.8 gpus' is '8 gpus', but it is not valid as a name; use letters, digits and '-', a letter "
            "first",
        ),
        (
            {"node_groups": group(), "service_accounts": {"My_Account": {"prefix": "runs"}}},
            "'service_accounts.My_Account' is 'My_Account', but it is not valid as a name; use lower-case letters, "
            "digits and '-', at most 63",
        ),
    ],
)
def test_rejects_a_name_that_cannot_become_an_id_or_an_object(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        ClusterConfig(**fields)
    assert str(error.value) == message


def test_efa_only_interfaces_take_no_addresses() -> None:
    """32 EFA interfaces of a p5 would fill a /22 with 18 nodes; without addresses 44 fit."""
    ClusterConfig(node_groups=group(instance_type="p5.48xlarge", max_size=44), vpc_cidr="10.0.0.0/20")
    with pytest.raises(InputError, match="the node groups can take 945"):
        ClusterConfig(node_groups=group(instance_type="p5.48xlarge", max_size=45), vpc_cidr="10.0.0.0/20")


def test_the_training_zone_is_that_of_a_section_or_the_first() -> None:
    def zone(**fields: Any) -> str | None:
        return ClusterConfig(**{"node_groups": group(), **fields}).training_zone

    assert zone() is None
    assert zone(availability_zones=ZONES) == "us-east-1a"
    assert zone(availability_zones=ZONES, node_groups=group(availability_zone="us-east-1b")) == "us-east-1b"
    assert zone(availability_zones=ZONES, lustre=LustreConfig(availability_zone="us-east-1b")) == "us-east-1b"


def test_values_of_a_dict_are_validated_as_arguments_are() -> None:
    group = {"instance_type": "p4d.24xlarge", "min_size": "one"}
    with pytest.raises(InputError) as caught:
        ClusterConfig.model_validate({"node_groups": {"gpu": group}, "nats": True})
    assert [problem.path for problem in caught.value.problems] == [("node_groups", "gpu", "min_size"), ("nats",)]
    with pytest.raises(InputError) as caught:
        ClusterConfig.model_validate("gpu")
    assert str(caught.value) == "'obj' is 'gpu'; give names and values, as a dict"
    assert GpuNodeGroupConfig.model_validate({"instance_type": "p4d.24xlarge"}).min_size == 0


def test_another_region_is_that_of_a_mirror_with_nat_and_another_partition_is_reported_once() -> None:
    there = "111122223333.dkr.ecr.eu-west-1.amazonaws.com"
    ClusterConfig(node_groups=group(), availability_zones=ZONES, mirror=there, pre_pull_images=(f"{there}/training:1",))
    ClusterConfig(node_groups=group(), nat=False, mirror=there)
    with pytest.raises(InputError) as caught:
        ClusterConfig(
            node_groups=group(),
            availability_zones=ZONES,
            nat=False,
            mirror="111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn",
        )
    assert len(caught.value.problems) == 1


def test_groups_of_one_label_are_reported_once_with_a_queue() -> None:
    with pytest.raises(InputError) as caught:
        ClusterConfig(node_groups=group("gpu") | group("gpu-"), job_queue=JobQueueSpec())
    (problem,) = caught.value.problems
    assert problem.allowed
    assert problem.allowed.startswith("its nodes would have the label 'gpu', as those of 'gpu'")
