from typing import Any

import pytest

from training_workloads import InputError
from training_workloads.platform.file_systems import EfsAttributes, LustreAttributes

LUSTRE: dict[str, Any] = {
    "file_system_id": "fs-0123456789abcdef0",
    "dns_name": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
    "mount_name": "abcd1234",
    "capacity_gib": 1200,
}
EFS: dict[str, Any] = {"file_system_id": "fs-01234567", "access_point_id": "fsap-0123456789abcdef0"}


def test_accepts_what_aws_returns() -> None:
    assert LustreAttributes(**LUSTRE).mount_name == "abcd1234"
    assert EfsAttributes(**EFS).access_point_id == "fsap-0123456789abcdef0"


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (
            LustreAttributes,
            LUSTRE | {"file_system_id": "fs-1"},
            "'file_system_id' is 'fs-1'; give an id such as fs-0123456789abcdef0 (aws fsx describe-file-systems)",
        ),
        (
            LustreAttributes,
            LUSTRE | {"file_system_id": "fs-0123456789abcdef1"},
            "'dns_name' is 'fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com', but 'file_system_id' is "
            "'fs-0123456789abcdef1'; give both of one file system",
        ),
        (
            LustreAttributes,
            LUSTRE | {"dns_name": "10.0.0.1"},
            "'dns_name' is '10.0.0.1'; give the name alone, as DNSName of aws fsx describe-file-systems: "
            "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        ),
        (
            LustreAttributes,
            LUSTRE | {"mount_name": "/fsx"},
            "'mount_name' is '/fsx'; give MountName of aws fsx describe-file-systems, at most 8 characters",
        ),
        (
            LustreAttributes,
            LUSTRE | {"file_system_id": "fs-0123456789"},
            "'file_system_id' is 'fs-0123456789'; give an id such as fs-0123456789abcdef0 "
            "(aws fsx describe-file-systems)",
        ),
        (LustreAttributes, LUSTRE | {"capacity_gib": 0}, "'capacity_gib' is 0; give 1 or more"),
        (
            EfsAttributes,
            EFS | {"file_system_id": "efs"},
            "'file_system_id' is 'efs'; give an id such as fs-0123456789abcdef0 (aws efs describe-file-systems)",
        ),
        (
            EfsAttributes,
            EFS | {"access_point_id": "fs-01234567"},
            "'access_point_id' is 'fs-01234567'; give an id such as fsap-0123456789abcdef0 "
            "(aws efs describe-access-points)",
        ),
    ],
)
def test_rejects_what_aws_never_returns(kind: type, values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        kind(**values)
    assert str(caught.value) == message


def test_reports_every_mistake_at_once() -> None:
    with pytest.raises(InputError) as caught:
        LustreAttributes(file_system_id="", dns_name="", mount_name="", capacity_gib=0)
    assert len(caught.value.problems) == 4
