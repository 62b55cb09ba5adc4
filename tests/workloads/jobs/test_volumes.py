from typing import Any

import pytest

from training_workloads import InputError, SharedVolume
from training_workloads.jobs.volumes import EFS_CLAIM


def test_the_lustre_file_system_by_default() -> None:
    volume = SharedVolume()
    assert volume.to_wire("shared-0") == {
        "name": "shared-0",
        "persistentVolumeClaim": {"claimName": "training-lustre"},
    }
    assert volume.to_mount("shared-0") == {"name": "shared-0", "mountPath": "/fsx"}


def test_the_elastic_file_system() -> None:
    volume = SharedVolume(claim=EFS_CLAIM, mount_path="/efs")
    assert volume.to_wire("v") == {"name": "v", "persistentVolumeClaim": {"claimName": "training-efs"}}
    assert volume.to_mount("v") == {"name": "v", "mountPath": "/efs"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"claim": "Training"},
            "'claim' is 'Training'; give a name of lower-case letters, digits, '-' and '.', at most 253",
        ),
        ({"mount_path": "fsx"}, "'mount_path' is 'fsx'; give an absolute path other than /dev/shm, such as /fsx"),
        (
            {"mount_path": "/dev/shm/x"},
            "'mount_path' is '/dev/shm/x'; give an absolute path other than /dev/shm, such as /fsx",
        ),
        (
            {"mount_path": "/dev/shm"},
            "'mount_path' is '/dev/shm'; give an absolute path other than /dev/shm, such as /fsx",
        ),
    ],
)
def test_rejects_what_the_api_server_rejects(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        SharedVolume(**wrong)
    assert str(caught.value) == message
