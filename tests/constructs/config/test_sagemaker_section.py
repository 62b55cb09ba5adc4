from pathlib import Path
from typing import Any

import pytest

from training_cluster import ClusterConfig, SageMakerConfig, load_config
from training_cluster.config import NotebookSpec
from training_workloads import InputError

ZONES = ("us-east-1a", "us-east-1b")
VPC = {
    "vpc_id": "vpc-0123456789abcdef0",
    "private_subnet_ids": ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
}
LUSTRE = {"file_system_id": "fs-0123456789abcdef0", "mount_name": "abcdefgh", "capacity_gib": 2400}
REPOSITORY = "https://github.com/my-team/training.git"

BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"vpc_cidr": "10.0.0.0/8"}, "'vpc_cidr' is '10.0.0.0/8'"),
    (
        {"availability_zones": ("us-east-1a",)},
        "'availability_zones' is ['us-east-1a']; give two or more, the one with the GPU capacity first",
    ),
    (
        {"availability_zones": ("us-east-1a", "us-west-2a")},
        "'availability_zones' is ['us-east-1a', 'us-west-2a'], but they are of us-east-1 and us-west-2",
    ),
    (
        {"availability_zones": ZONES, "lustre": {"availability_zone": "us-east-1c"}},
        "'lustre.availability_zone' is 'us-east-1c', but sagemaker.availability_zones is us-east-1a, us-east-1b; add "
        "the zone there, or omit it",
    ),
    (
        {"availability_zones": ZONES, "lustre": {"further_zones": ("us-east-1b",)}},
        "'lustre.further_zones' is ['us-east-1b'], but SageMaker's jobs use one file system, in one zone; omit it",
    ),
    (
        {"existing_vpc": VPC},
        "'availability_zones' is missing, but existing_vpc needs it",
    ),
    (
        {"existing_vpc": VPC, "availability_zones": (*ZONES, "us-east-1c")},
        "'existing_vpc.private_subnet_ids' is ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'], but",
    ),
    (
        {"existing_lustre": LUSTRE},
        "'existing_vpc' is missing, but existing_lustre needs it; name the VPC of the file system",
    ),
    (
        {"existing_vpc": VPC, "availability_zones": ZONES, "vpc_cidr": "10.1.0.0/16"},
        "'vpc_cidr' is '10.1.0.0/16', but existing_vpc names what exists; omit it",
    ),
    ({"data_prefix": "s3://b/data"}, "'data_prefix'"),
    (
        {"notebook": {"repository": REPOSITORY}},
        f"'notebook.repository' is '{REPOSITORY}', but the new VPC has no way to it; set nat: true, or name a VPC with "
        "a way to it in existing_vpc",
    ),
]


@pytest.mark.parametrize(("fields", "message"), BROKEN)
def test_rejects_a_mistake_with_its_message(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        SageMakerConfig(**fields)
    assert str(error.value).startswith(message)


def config(**fields: Any) -> ClusterConfig:
    groups = {"gpu": {"instance_type": "p4d.24xlarge"}}
    return ClusterConfig.model_validate({"node_groups": groups, **fields})


def test_there_is_no_stack_without_the_section() -> None:
    assert config().sagemaker is None
    assert config(sagemaker=False).sagemaker is None


def test_the_section_and_its_parts_can_have_their_defaults_by_true() -> None:
    assert config(sagemaker=True).sagemaker == SageMakerConfig()
    section = config(sagemaker={"lustre": True, "notebook": True}).sagemaker
    assert section
    assert section.lustre
    assert section.lustre.capacity_gib == 1200
    assert section.notebook == NotebookSpec()


def test_the_training_zone_is_that_of_lustre_or_the_first() -> None:
    assert SageMakerConfig().training_zone is None
    assert SageMakerConfig(availability_zones=ZONES).training_zone == "us-east-1a"
    section = SageMakerConfig.model_validate({"availability_zones": ZONES, "lustre": {"availability_zone": ZONES[1]}})
    assert section.training_zone == "us-east-1b"


def test_every_mistake_has_its_place_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "node_groups:\n"
        "  gpu: {instance_type: p3dn.24xlarge}\n"
        "sagemaker:\n"
        "  vpc_cidr: 10.0.0.0/8\n"
        "  data_prefix: data/*\n"
        "  notebook:\n"
        "    instance_type: t3.medium\n"
        "    volume_gib: 1\n"
        "  notebok: true\n"
    )
    with pytest.raises(InputError) as caught:
        load_config(path)
    places = [
        (problem.source.rpartition(":")[2], ".".join(map(str, problem.path))) for problem in caught.value.problems
    ]
    assert places == [
        ("4", "sagemaker.vpc_cidr"),
        ("5", "sagemaker.data_prefix"),
        ("7", "sagemaker.notebook.instance_type"),
        ("8", "sagemaker.notebook.volume_gib"),
        ("9", "sagemaker.notebok"),
    ]


def test_an_option_sets_a_part_of_the_section(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("node_groups:\n  gpu: {instance_type: p3dn.24xlarge}\nsagemaker: {nat: true}\n")
    section = load_config(path, {"sagemaker.notebook.volume_gib": "50"}).sagemaker
    assert section
    assert section.notebook
    assert section.notebook.volume_gib == 50
