from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Token

from training_cluster.storage.lustre_spec import DataRepository, LustreSpec
from training_workloads import InputError

DATA = DataRepository(path="/data", prefix="data")

# A row for each mistake, with its message.
BROKEN: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: LustreSpec(deployment_type="PERSISTENT_1"),
        "'deployment_type' is 'PERSISTENT_1'; give one of PERSISTENT_2, SCRATCH_2",
    ),
    (
        lambda: LustreSpec(throughput_mbps_per_tib=200),
        "'throughput_mbps_per_tib' is 200; give one of 125, 250, 500, 1000",
    ),
    (
        lambda: LustreSpec(deployment_type="SCRATCH_2", throughput_mbps_per_tib=250),
        "'throughput_mbps_per_tib' is 250, but SCRATCH_2 always has 200; "
        "omit it, or use the deployment type PERSISTENT_2",
    ),
    (lambda: LustreSpec(capacity_gib=0), "'capacity_gib' is 0; give 1 or more"),
    (
        lambda: LustreSpec(capacity_gib="1200"),  # type: ignore[arg-type]
        "'capacity_gib' is '1200'; give a whole number, 1 or more",
    ),
    (
        lambda: LustreSpec(capacity_gib=1000),
        "'capacity_gib' is 1000, but Lustre does not offer this size; give 1200 or a multiple of 2400, such as 1200",
    ),
    (
        lambda: LustreSpec(capacity_gib=3600, deployment_type="SCRATCH_2"),
        "'capacity_gib' is 3600, but Lustre does not offer this size; give 1200 or a multiple of 2400, such as 4800",
    ),
    (
        lambda: LustreSpec(capacity_gib=9600, efa=True),
        "'capacity_gib' is 9600, but with EFA at 125 MB/s per TiB Lustre offers multiples of 38400; "
        "give 38400, or start at 4800 with a throughput of 1000",
    ),
    (
        lambda: LustreSpec(deployment_type="SCRATCH_2", efa=True),
        "'efa' is True, but SCRATCH_2 has no EFA; omit it, or use PERSISTENT_2",
    ),
    (
        lambda: LustreSpec(data_repositories=tuple(DataRepository(path=f"/{n}", prefix=f"{n}") for n in range(9))),
        "'data_repositories' is ['/0', '/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8'], but a file system has at most "
        "8; use a common parent folder instead of several of its children",
    ),
    (
        lambda: LustreSpec(data_repositories=(DATA, DataRepository(path="/data/train", prefix="train"))),
        "'data_repositories[1].path' is '/data/train', but it overlaps with /data; "
        "give folders side by side, such as /data and /runs",
    ),
    (
        lambda: LustreSpec(data_repositories=(DATA, DataRepository())),
        "'data_repositories[1].path' is '/', but it overlaps with /data; "
        "give folders side by side, such as /data and /runs",
    ),
    (
        lambda: LustreSpec(data_repositories=(DATA, DataRepository(path="/runs", prefix="data/"))),
        "'data_repositories[1].prefix' is 'data/', but /data has the same; "
        "give each data repository a different prefix, such as data and runs",
    ),
    (
        lambda: DataRepository(path="data"),
        "'path' is 'data'; give a folder from the root, such as /data",
    ),
    (
        lambda: DataRepository(prefix="/data"),
        "'prefix' is '/data'; give the start of the objects' keys without a leading '/', or ''",
    ),
    *(
        (
            lambda path=path: DataRepository(path=path),
            f"'path' is {path!r}; give the folder's path without '//', '.' and '..', such as /data",
        )
        for path in ("//data", "/a/../b", "/./a")
    ),
    *(
        (lambda prefix=prefix: DataRepository(prefix=prefix), message)
        for prefix, message in (
            ("s3://b/runs", "'prefix' is 's3://b/runs'; give the folder without s3://b/: runs"),
            ("runs//a", "'prefix' is 'runs//a', but a folder between // has no name; give runs/a"),
        )
    ),
    (
        lambda: LustreSpec(efa="no"),  # type: ignore[arg-type]
        "'efa' is 'no'; give true or false",
    ),
    (
        lambda: LustreSpec(data_repositories=DATA),  # type: ignore[arg-type]
        "'data_repositories' is a DataRepository; give a list, such as [{path: /data, prefix: data/}]",
    ),
    (
        lambda: LustreSpec(data_repositories=["/data"]),  # type: ignore[list-item]
        "'data_repositories[0]' is '/data'; give its keys, such as {path: /data, prefix: data/}",
    ),
    (
        lambda: DataRepository(export_deletions="no"),  # type: ignore[arg-type]
        "'export_deletions' is 'no'; give true or false",
    ),
    (
        lambda: DataRepository(i_know_that_rm_deletes_objects="no"),  # type: ignore[arg-type]
        "'i_know_that_rm_deletes_objects' is 'no'; give true or false",
    ),
    (
        lambda: DataRepository(export_deletions=True),
        "'export_deletions' is True, but then 'rm' on Lustre deletes the objects in S3; "
        "set 'i_know_that_rm_deletes_objects' to true as well, or omit both to keep the objects",
    ),
    (
        lambda: DataRepository(i_know_that_rm_deletes_objects=True),
        "'i_know_that_rm_deletes_objects' is True, but without 'export_deletions' nothing is deleted; "
        "set both to true, or omit both",
    ),
]


@pytest.mark.parametrize(("make", "message"), BROKEN)
def test_each_rule_reports_its_problem(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message


def test_reports_all_problems_together() -> None:
    with pytest.raises(InputError) as caught:
        LustreSpec(capacity_gib=1000, throughput_mbps_per_tib=1)
    assert [problem.path for problem in caught.value.problems] == [("throughput_mbps_per_tib",), ("capacity_gib",)]


@pytest.mark.parametrize("deployment_type", ["PERSISTENT_2", "SCRATCH_2"])
@pytest.mark.parametrize("capacity", [1200, 2400, 4800, 24000])
def test_allows_the_sizes_of_lustre(capacity: int, deployment_type: str) -> None:
    assert LustreSpec(capacity_gib=capacity, deployment_type=deployment_type).capacity_gib == capacity


@pytest.mark.parametrize(("throughput", "capacity"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_allows_the_sizes_with_efa(throughput: int, capacity: int) -> None:
    for gib in (capacity, 2 * capacity):
        assert LustreSpec(capacity_gib=gib, throughput_mbps_per_tib=throughput, efa=True).capacity_gib == gib
    other = "" if throughput == 1000 else ", or start at 4800 with a throughput of 1000"
    with pytest.raises(InputError, match=f"multiples of {capacity}; give {capacity}{other}$"):
        LustreSpec(capacity_gib=2400, throughput_mbps_per_tib=throughput, efa=True)


@pytest.mark.parametrize(
    ("spec", "throughput"),
    [
        (LustreSpec(), 125),
        (LustreSpec(throughput_mbps_per_tib=1000), 1000),
        (LustreSpec(deployment_type="SCRATCH_2"), 200),
    ],
)
def test_the_throughput_of_a_tib(spec: LustreSpec, throughput: int) -> None:
    assert spec.mbps_per_tib == throughput


def test_allows_eight_data_repositories_side_by_side() -> None:
    repositories = tuple(DataRepository(path=f"/data{n}", prefix=f"{n}") for n in range(8))
    assert LustreSpec(data_repositories=repositories).data_repositories == repositories


@pytest.mark.parametrize("efa", [False, True])
def test_allows_a_token_as_size_and_checks_the_rest(efa: bool) -> None:
    size: Any = Token.as_number({"Ref": "Size"})
    assert LustreSpec(capacity_gib=size, efa=efa).capacity_gib == size
    with pytest.raises(InputError, match=r"^'throughput_mbps_per_tib' is 1;"):
        LustreSpec(capacity_gib=size, throughput_mbps_per_tib=1, efa=efa)


@pytest.mark.parametrize("efa", [False, True])
def test_allows_a_token_as_throughput(efa: bool) -> None:
    throughput: Any = Token.as_number({"Ref": "Throughput"})
    spec = LustreSpec(throughput_mbps_per_tib=throughput, capacity_gib=1200, efa=efa)
    assert spec.mbps_per_tib == throughput


def test_allows_a_token_as_prefix() -> None:
    prefix = Token.as_string({"Ref": "Prefix"})
    assert DataRepository(prefix=prefix).prefix == prefix


def test_rejects_a_throughput_that_is_no_number() -> None:
    with pytest.raises(InputError) as caught:
        LustreSpec(throughput_mbps_per_tib=[125], efa=True)  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("throughput_mbps_per_tib",)]
