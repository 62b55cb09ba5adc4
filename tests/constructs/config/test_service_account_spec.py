import pytest

from training_cluster import ServiceAccountSpec
from training_workloads import InputError


def test_every_mistake_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        ServiceAccountSpec(prefix="runs/*", namespace="My Jobs")
    assert caught.value.args == (
        "'prefix' is 'runs/*', in which IAM reads * as a wildcard or a variable; give the name of a folder",
        "'namespace' is 'My Jobs'; give lower-case letters, digits and '-', at most 63",
    )


def test_the_whole_bucket_must_be_meant() -> None:
    with pytest.raises(InputError, match=r"'prefix' is ''; give a folder of the bucket"):
        ServiceAccountSpec(prefix="")
    ServiceAccountSpec(prefix="/")
