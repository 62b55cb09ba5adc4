from typing import Any

import pytest

from training_cluster.config import ExistingEfsConfig, ExistingLustreConfig, ExistingVpcConfig
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
