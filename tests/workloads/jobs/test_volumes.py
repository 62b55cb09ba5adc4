from typing import Any

import pytest

from training_workloads import InputError, SharedVolume


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
