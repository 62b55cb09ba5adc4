from typing import Any

import pytest

from training_cluster.config import ClusterConfig, ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig
from training_workloads import InputError

VPC = {"vpc_id": "vpc-0123456789abcdef0", "private_subnet_ids": ("subnet-0123456789abcdef0",)}
LUSTRE = {"file_system_id": "fs-0123456789abcdef0", "mount_name": "abcdefgh", "capacity_gib": 2400}
EFS = {"file_system_id": "fs-0123456789abcdef0", "access_point_id": "fsap-0123456789abcdef0"}


@pytest.mark.parametrize(
    ("section", "fields", "message"),
    [
        (ExistingVpcConfig, {**VPC, "vpc_id": "main"}, "'vpc_id' is 'main'; give an id such as vpc-0123456789abcdef0"),
        (
            ExistingVpcConfig,
            {**VPC, "private_subnet_ids": ("subnet-0123456789abcdef0", "a")},
            "'private_subnet_ids[1]' is 'a'; give an id such as subnet-0123456789abcdef0",
        ),
        (
            ExistingVpcConfig,
            {**VPC, "private_subnet_ids": ("subnet-0123456789abcdef0",) * 2},
            "'private_subnet_ids' is ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef0']; give each subnet once",
        ),
        (
            ExistingVpcConfig,
            {**VPC, "private_subnet_ids": ()},
            "'private_subnet_ids' is [], but the nodes need one in each zone; give the private subnet of each of "
            "availability_zones, in the same order",
        ),
        (ExistingLustreConfig, {**LUSTRE, "file_system_id": "lustre"}, "'file_system_id' is 'lustre'; give an id"),
        (ExistingLustreConfig, {**LUSTRE, "mount_name": "/fsx"}, "'mount_name' is '/fsx'; give MountName of"),
        (ExistingLustreConfig, {**LUSTRE, "capacity_gib": 0}, "'capacity_gib' is 0; give 1 or more"),
        (ExistingLustreConfig, {**LUSTRE, "security_group_id": "mine"}, "'security_group_id' is 'mine'; give an id"),
        (ExistingEfsConfig, {**EFS, "file_system_id": "efs"}, "'file_system_id' is 'efs'; give an id such as fs-"),
        (ExistingEfsConfig, {**EFS, "access_point_id": "a"}, "'access_point_id' is 'a'; give an id such as fsap-"),
        (ExistingEfsConfig, {**EFS, "security_group_id": "sg"}, "'security_group_id' is 'sg'; give an id such as sg-"),
    ],
)
def test_rejects_what_is_not_an_id(section: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        section(**fields)
    assert str(caught.value).startswith(message)


ZONES = ["us-east-1a", "us-east-1b"]
KEY_ARN = "arn:aws:kms:us-east-1:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"existing_bucket": "s3://my-data/runs"},
            "'existing_bucket' is 's3://my-data/runs'; give the name of the bucket, without s3:// and without a folder",
        ),
        ({"existing_bucket": "my_data"}, "'existing_bucket' is 'my_data'; give the name of the bucket"),
        (
            {"existing_key": "alias/training"},
            "'existing_key' is 'alias/training'; give the ARN of the key and not of an alias, such as arn:aws:kms:",
        ),
        (
            {"existing_key": KEY_ARN.replace("us-east-1", "us-west-2")},
            f"'existing_key' is '{KEY_ARN.replace('us-east-1', 'us-west-2')}', but availability_zones are of "
            "us-east-1; give a key of us-east-1, or the zones of us-west-2",
        ),
        (
            {"existing_repository": "111122223333.dkr.ecr.us-east-1.amazonaws.com/training/images:1"},
            "'existing_repository' is '111122223333.dkr.ecr.us-east-1.amazonaws.com/training/images:1', but that is an "
            "address with the registry; give training/images",
        ),
        ({"existing_repository": "Images"}, "'existing_repository' is 'Images'; give the name of the repository"),
    ],
)
def test_rejects_what_names_no_data(fields: dict[str, str], message: str) -> None:
    groups: Any = {"gpu": {"instance_type": "p4d.24xlarge"}}
    values: Any = {"availability_zones": ZONES, **fields}
    with pytest.raises(InputError) as caught:
        ClusterConfig(node_groups=groups, **values)
    assert str(caught.value).startswith(message)
