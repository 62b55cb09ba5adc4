from dataclasses import replace
from typing import Any

import pytest

from tests.constructs.instance_types import DISKLESS
from training_cluster.nodes import ami_release, gpu_node_group_spec
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_workloads import InputError, gpu_instance_type
from training_workloads.catalog.versions import AmiDrivers

RESERVATION = "cr-0123456789abcdef0"
P3 = {"instance_type": "p3dn.24xlarge"}
P4D = {"instance_type": "p4d.24xlarge"}
RESOURCE_GROUP = "arn:aws:resource-groups:us-west-2:111122223333:group/training"
BLOCK = {"capacity_type": "CAPACITY_BLOCK", "capacity_reservation_id": RESERVATION}

BROKEN: list[tuple[dict[str, Any], str]] = [
    (
        {"instance_type": "m5.xlarge"},
        "'instance_type' is 'm5.xlarge', but it has no GPU; choose one of ",
    ),
    (
        {"instance_type": "p4.24xlarge"},
        "'instance_type' is 'p4.24xlarge', but it is not known; did you mean p4d.24xlarge",
    ),
    (
        P3 | BLOCK | {"instance_type": None},
        "'instance_type' is None; give EC2's name of a type, such as p4d.24xlarge",
    ),
    (P3 | {"min_size": -1}, "'min_size' is -1; give 0 or more"),
    (P3 | {"min_size": "1"}, "'min_size' is '1'; give a whole number, 0 or more"),
    (
        P3 | {"desired_size": "many"},
        "'desired_size' is 'many'; give a whole number, 0 or more",
    ),
    (P3 | {"max_size": 0}, "'max_size' is 0; give 1 or more"),
    (
        P3 | {"desired_size": 3, "max_size": 2},
        "'desired_size' is 3; give a number from min_size (0) to max_size (2)",
    ),
    (
        P3 | {"min_size": 3, "max_size": 2},
        "'min_size' is 3, but max_size is 2; lower the one or raise the other",
    ),
    (
        P3 | {"min_size": 3, "desired_size": 1},
        "'desired_size' is 1, but min_size is 3; give 3 or more",
    ),
    (
        P3 | {"capacity_type": ["SPOT"]},
        "'capacity_type' is ['SPOT']; give one of ON_DEMAND, SPOT, CAPACITY_BLOCK",
    ),
    (
        {"instance_type": ["p4d.24xlarge"]},
        "'instance_type' is ['p4d.24xlarge']; give EC2's name of a type, such as p4d.24xlarge",
    ),
    (
        P3 | {"root_volume_mib_per_second": 100},
        "'root_volume_mib_per_second' is 100; give 125 or more",
    ),
    (
        P3 | {"root_volume_mib_per_second": 2001},
        "'root_volume_mib_per_second' is 2001; give 2000 or less",
    ),
    (
        P3 | {"root_volume_iops": 100000},
        "'root_volume_iops' is 100000; give 80000 or less",
    ),
    (
        P3 | {"root_volume_mib_per_second": 1000, "root_volume_iops": 3000},
        "'root_volume_iops' is 3000, but 1000 MiB/s need 4000: EBS gives 0.25 MiB/s for each; omit it, or lower",
    ),
    (
        P3 | {"fast_image_pull": "yes"},
        "'fast_image_pull' is 'yes'; give true or false",
    ),
    (
        {"instance_type": DISKLESS, "root_volume_mib_per_second": 250, "fast_image_pull": True},
        "'root_volume_mib_per_second' is 250, but fast_image_pull needs 600, below which pulls become slower with it; "
        "give 600 or more, better 1000, or omit fast_image_pull",
    ),
    (P3 | {"ssm": 1}, "'ssm' is 1; give true or false"),
    (P4D | {"efa": "false"}, "'efa' is 'false'; give true or false"),
    (
        P4D | {"placement_group": "no"},
        "'placement_group' is 'no'; give true, false, or the name of an existing placement group "
        "(aws ec2 describe-placement-groups)",
    ),
    (
        P4D | {"placement_group": "pg-0123456789abcdef0"},
        "'placement_group' is 'pg-0123456789abcdef0', but that is an id; give GroupName of aws ec2 "
        "describe-placement-groups",
    ),
    (
        P4D | {"placement_group": "arn:aws:ec2:us-west-2:111122223333:placement-group/my-group"},
        "'placement_group' is 'arn:aws:ec2:us-west-2:111122223333:placement-group/my-group', but that is an ARN; give "
        "my-group",
    ),
    (
        {"instance_type": "p5.48xlarge"} | BLOCK | {"placement_group": "my-group"},
        "'placement_group' is 'my-group', but EC2 decides the placement of a Capacity Block's instances; omit it",
    ),
    (
        {"instance_type": "p5.48xlarge"} | BLOCK | {"capacity_reservation_id": RESOURCE_GROUP},
        f"'capacity_reservation_id' is '{RESOURCE_GROUP}', but a node group runs in one Capacity Block and not in a "
        "group of them; give the id of the block (aws ec2 describe-capacity-reservations), and a node group for each "
        "further one: a job may span them",
    ),
    (
        P4D | {"capacity_type": "SPOT", "capacity_reservation_id": RESOURCE_GROUP},
        f"'capacity_reservation_id' is '{RESOURCE_GROUP}', but Spot instances cannot use a reservation; set "
        "capacity_type to ON_DEMAND, or to CAPACITY_BLOCK if it is one",
    ),
    (
        P4D | {"capacity_reservation_id": f"arn:aws:ec2:us-west-2:111122223333:capacity-reservation/{RESERVATION}"},
        f"'capacity_reservation_id' is 'arn:aws:ec2:us-west-2:111122223333:capacity-reservation/{RESERVATION}', but "
        f"that is an ARN; give {RESERVATION}",
    ),
    (
        P4D | {"capacity_reservation_id": RESOURCE_GROUP.replace("group/", "groups/")},
        f"'capacity_reservation_id' is '{RESOURCE_GROUP.replace('group/', 'groups/')}'; give an id such as "
        "cr-0123456789abcdef0 (aws ec2 describe-capacity-reservations), or the ARN of a resource group of reservations "
        "(aws resource-groups list-groups), such as arn:aws:resource-groups:us-east-1:111122223333:group/training",
    ),
    (
        P3 | {"ami_release": "1.35.0-20991399"},
        "'ami_release' is '1.35.0-20991399', but it does not end with a date (year, month, day); give one of "
        "https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html",
    ),
    (
        P3 | {"ami_release": "1.35.4-20261003"},
        "'ami_release' is '1.35.4-20261003', but it panics while the kernel reclaims memory, and nodes restart (kernel "
        "6.12.110, amazon-eks-ami#2845); give a release of 20261012 or later, or 'latest'",
    ),
    (
        P3 | {"ami_release": 1.35},
        "'ami_release' is 1.35; give 'latest', or an AMI release of EKS, such as 1.35.0-20260917",
    ),
    (
        P3 | {"capacity_type": "spot"},
        "'capacity_type' is 'spot'; give one of ON_DEMAND, SPOT, CAPACITY_BLOCK",
    ),
    (
        P4D | {"capacity_reservation_id": "my-reservation"},
        "'capacity_reservation_id' is 'my-reservation'; give an id such as "
        "cr-0123456789abcdef0 (aws ec2 describe-capacity-reservations)",
    ),
    (
        P4D | {"capacity_type": "SPOT", "capacity_reservation_id": RESERVATION},
        "'capacity_reservation_id' is 'cr-0123456789abcdef0', but Spot instances cannot use a reservation; set "
        "capacity_type to ON_DEMAND, or to CAPACITY_BLOCK if it is one",
    ),
    (
        P4D | {"capacity_type": "CAPACITY_BLOCK"},
        "'capacity_reservation_id' is missing, but capacity_type CAPACITY_BLOCK needs it; give the id of the block "
        "that you bought (aws ec2 describe-capacity-reservations)",
    ),
    (
        P3 | BLOCK,
        "'capacity_type' is 'CAPACITY_BLOCK', but EC2 does not sell it for p3dn.24xlarge; set it to ON_DEMAND or SPOT, "
        "or choose a type such as those of the p5 family",
    ),
    (
        P4D | BLOCK | {"max_size": 65},
        "'max_size' is 65, but a Capacity Block has at most 64 instances; lower it to the size of yours, or use a node "
        "group for each block",
    ),
    (
        P4D | {"placement_group": True, "capacity_reservation_id": RESERVATION},
        "'placement_group' is True, but the reservation cr-0123456789abcdef0 decides the placement and a new group may "
        "not reach all of its instances; omit it, or name the placement group in which the reservation was made",
    ),
    (
        {"instance_type": "g5.xlarge", "efa": True},
        "'efa' is True, but g5.xlarge has no EFA; omit efa, or choose a type that has it, such as the largest "
        "of its family",
    ),
    (
        P3 | {"ami_release": "newest"},
        "'ami_release' is 'newest'; give 'latest', or an AMI release of EKS, such as 1.35.0-20260917",
    ),
]


@pytest.mark.parametrize(("spec", "message"), BROKEN)
def test_rejects_a_mistake_with_one_message(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        GpuNodeGroupSpec(**spec)
    (problem,) = caught.value.problems
    assert str(problem).startswith(message)


def test_rejects_a_placement_group_for_a_type_that_cannot_be_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every type of the catalog can be in one, so the test changes one."""
    apart = replace(gpu_instance_type("p3dn.24xlarge"), placement_group=False)
    monkeypatch.setattr(gpu_node_group_spec, "gpu_instance_type", lambda _: apart)
    with pytest.raises(InputError) as caught:
        GpuNodeGroupSpec(instance_type="p3dn.24xlarge", placement_group=True)
    assert str(caught.value) == (
        "'placement_group' is True, but p3dn.24xlarge cannot be launched in a cluster placement group; "
        "omit placement_group"
    )


@pytest.mark.parametrize(
    ("branches", "instance_type", "needed"),
    [
        ((590, 595), "p3dn.24xlarge", "branch 580 or older"),
        ((570,), "p6-b300.48xlarge", "branch 580 or newer"),
        ((580,), "g7.12xlarge", "branch 595 or newer"),
    ],
)
def test_rejects_an_ami_without_a_driver_for_the_gpu(
    branches: tuple[int, ...], instance_type: str, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ((20260101, (580, 595)), (20270101, branches))
    drivers = tuple(AmiDrivers(since=since, branches=each, source="made up") for since, each in rows)
    monkeypatch.setattr(ami_release, "AMI_DRIVERS", drivers)
    for release in ("latest", "1.36.0-20270101"):
        with pytest.raises(InputError) as caught:
            GpuNodeGroupSpec(instance_type=instance_type, ami_release=release)
        assert str(caught.value).startswith(f"'ami_release' is '{release}', but its NVIDIA drivers (")
        assert needed in str(caught.value)
    GpuNodeGroupSpec(instance_type=instance_type, ami_release="1.35.0-20261231")


# What the changelog, the release notes and the issues of awslabs/amazon-eks-ami say: numbers of their issues.
FAULTY = [
    ("1.35.3-20260423", "p6-b200.48xlarge", "2706"),
    ("1.35.3-20260423", "g6.12xlarge", "2706"),
    ("1.34.5-20260415", "p5.48xlarge", "2706"),
    ("1.34.5-20260511", "p5.48xlarge", "2706"),
    ("1.34.1-20251007", "p5.48xlarge", "2428"),
    ("1.34.1-20251022", "g5.xlarge", "2428"),
    ("1.33.0-20250519", "p4d.24xlarge", "2428"),
    ("1.31.5-20250101", "p4d.24xlarge", "2428"),
    ("1.34.1-20251108", "p5en.48xlarge", "2554"),
    ("1.34.9-20260930", "p3dn.24xlarge", "2845"),
    ("1.33.9-20261003", "p5.48xlarge", "2845"),
    ("1.35.4-20261007", "p5.48xlarge", "2845"),
]
GOOD = [
    ("1.35.3-20260403", "p6-b200.48xlarge"),
    ("1.35.3-20260512", "p6-b200.48xlarge"),
    ("1.34.1-20251023", "p5.48xlarge"),
    ("1.33.5-20261112", "p5.48xlarge"),
    ("1.34.1-20251108", "p5.48xlarge"),
    ("1.34.1-20251110", "p5en.48xlarge"),
    ("1.36.3-20261003", "p3dn.24xlarge"),
    ("1.35.0-20260917", "p5.48xlarge"),
    ("1.35.4-20261012", "p5.48xlarge"),
]


@pytest.mark.parametrize(("release", "instance_type", "issue"), FAULTY)
def test_rejects_a_release_with_a_known_fault_on_these_nodes(release: str, instance_type: str, issue: str) -> None:
    with pytest.raises(InputError) as caught:
        GpuNodeGroupSpec(instance_type=instance_type, ami_release=release)
    faults = [str(each) for each in caught.value.problems if "drivers" not in str(each)]
    assert len(faults) == 1
    assert f"(amazon-eks-ami#{issue}" in faults[0] or f", amazon-eks-ami#{issue})" in faults[0]


@pytest.mark.parametrize(("release", "instance_type"), GOOD)
def test_accepts_a_release_without_a_known_fault_on_these_nodes(release: str, instance_type: str) -> None:
    GpuNodeGroupSpec(instance_type=instance_type, ami_release=release)


def test_the_device_plugin_fault_names_the_next_good_release() -> None:
    with pytest.raises(InputError) as caught:
        GpuNodeGroupSpec(instance_type="p6-b200.48xlarge", ami_release="1.35.3-20260423")
    assert str(caught.value) == (
        "'ami_release' is '1.35.3-20260423', but it ends NVIDIA's device plugin in a loop ('Failed to initialize NVML: "
        "Driver Not Loaded') unless it has SYS_ADMIN, and no node has a GPU to request (amazon-eks-ami#2706, of "
        "20260423 on g6 and p6-b200); give a release of 20260512 or later, 'latest', or 20260403, the last one before"
    )


def test_reports_all_problems_at_once() -> None:
    with pytest.raises(InputError) as caught:
        GpuNodeGroupSpec(instance_type="p5.49xlarge", min_size=-1, capacity_type="BLOCK", ami_release="new")
    paths = [problem.path for problem in caught.value.problems]
    assert paths[-3:] == [("min_size",), ("capacity_type",), ("ami_release",)]
    assert "'instance_type' is 'p5.49xlarge'" in str(caught.value)


def test_sizes_by_default() -> None:
    spec = GpuNodeGroupSpec(instance_type="p3dn.24xlarge")
    assert (spec.min_size, spec.desired, spec.maximum) == (0, 0, 1)
    spec = GpuNodeGroupSpec(instance_type="p3dn.24xlarge", min_size=2)
    assert (spec.desired, spec.maximum) == (2, 2)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (P4D, True),
        (P4D | {"capacity_type": "SPOT"}, False),
        (P4D | {"capacity_type": "SPOT", "placement_group": True}, True),
        (P4D | {"placement_group": False}, False),
        (P4D | {"placement_group": "my-group", "capacity_reservation_id": RESERVATION}, True),
        (P4D | {"capacity_reservation_id": RESOURCE_GROUP}, False),
        (P4D | {"capacity_reservation_id": RESERVATION}, False),
        (P4D | BLOCK, False),
    ],
)
def test_no_placement_group_with_a_reservation_or_on_spot(spec: dict[str, Any], expected: bool) -> None:
    assert GpuNodeGroupSpec(**spec).in_placement_group is expected


def test_efa_is_optional() -> None:
    spec = GpuNodeGroupSpec(instance_type="p4d.24xlarge", efa=False)
    assert (spec.efa_interfaces, len(spec.network_interfaces)) == (0, 1)
    spec = GpuNodeGroupSpec(instance_type="p4d.24xlarge")
    assert (spec.efa_interfaces, len(spec.network_interfaces)) == (4, 5)


def test_a_fast_pull_onto_local_disks_needs_no_fast_root_volume() -> None:
    spec = GpuNodeGroupSpec(instance_type="p4d.24xlarge", fast_image_pull=True)
    assert spec.volume_mib_per_second == 125
