from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Token

from tests.constructs.rules import Rule, rules_of
from training_cluster.storage import data_repository_rules as link_rules
from training_cluster.storage import lustre_rules as rules
from training_cluster.storage.lustre_spec import DataRepositorySpec, LustreSpec
from training_workloads import InputError

DATA = DataRepositorySpec(path="/data", prefix="data")

# One row for each way to break a rule: the rule, what breaks it, and what the user reads.
BROKEN: list[tuple[Rule, Callable[[], Any], str]] = [
    (
        rules.deployment_type_is_known,
        lambda: LustreSpec(deployment_type="PERSISTENT_1"),
        "'deployment_type' is 'PERSISTENT_1'; give one of PERSISTENT_2, SCRATCH_2",
    ),
    (
        rules.throughput_is_a_class_of_persistent_storage,
        lambda: LustreSpec(throughput_mbps_per_tib=200),
        "'throughput_mbps_per_tib' is 200; give one of 125, 250, 500, 1000",
    ),
    (
        rules.scratch_storage_has_one_throughput,
        lambda: LustreSpec(deployment_type="SCRATCH_2", throughput_mbps_per_tib=250),
        "'throughput_mbps_per_tib' is 250, but SCRATCH_2 always has 200; "
        "leave it out, or use the deployment type PERSISTENT_2",
    ),
    (rules.capacity_is_a_number, lambda: LustreSpec(capacity_gib=0), "'capacity_gib' is 0; give 1 or more"),
    (
        rules.capacity_is_a_number,
        lambda: LustreSpec(capacity_gib="1200"),  # type: ignore[arg-type]
        "'capacity_gib' is '1200'; give a whole number, 1 or more",
    ),
    (
        rules.capacity_is_offered,
        lambda: LustreSpec(capacity_gib=1000),
        "'capacity_gib' is 1000, which Lustre does not offer; give 1200 or a multiple of 2400, such as 1200",
    ),
    (
        rules.capacity_is_offered,
        lambda: LustreSpec(capacity_gib=3600, deployment_type="SCRATCH_2"),
        "'capacity_gib' is 3600, which Lustre does not offer; give 1200 or a multiple of 2400, such as 4800",
    ),
    (
        rules.capacity_is_offered_with_efa,
        lambda: LustreSpec(capacity_gib=9600, efa=True),
        "'capacity_gib' is 9600, but with EFA at 125 MB/s per TiB Lustre offers multiples of 38400; "
        "give 38400, or start at 4800 with a throughput of 1000",
    ),
    (
        rules.efa_needs_persistent_storage,
        lambda: LustreSpec(deployment_type="SCRATCH_2", efa=True),
        "'efa' is true, but SCRATCH_2 has no EFA; leave it out, or use PERSISTENT_2",
    ),
    (
        rules.data_repositories_are_few,
        lambda: LustreSpec(data_repositories=tuple(DataRepositorySpec(path=f"/{n}", prefix=f"{n}") for n in range(9))),
        "'data_repositories' has 9 links, but a file system takes 8; "
        "link a common parent folder instead of several of its children",
    ),
    (
        rules.paths_do_not_overlap,
        lambda: LustreSpec(data_repositories=(DATA, DataRepositorySpec(path="/data/train", prefix="train"))),
        "'data_repositories' has the paths /data, /data/train, of which one contains another; "
        "give folders side by side, such as /data and /runs",
    ),
    (
        rules.prefixes_differ,
        lambda: LustreSpec(data_repositories=(DATA, DataRepositorySpec(path="/runs", prefix="data/"))),
        "'data_repositories' has the prefix 'data' more than once; "
        "give each link a prefix of its own, such as data and runs",
    ),
    (
        link_rules.path_is_absolute,
        lambda: DataRepositorySpec(path="data"),
        "'path' is 'data'; give a folder from the root, such as /data",
    ),
    (
        link_rules.prefix_is_relative,
        lambda: DataRepositorySpec(prefix="/data"),
        "'prefix' is '/data'; give the start of the objects' keys without a leading '/', or ''",
    ),
    *(
        (
            link_rules.path_is_plain,
            lambda path=path: DataRepositorySpec(path=path),
            f"'path' is {path!r}; give the folder's path without '//', '.' and '..', such as /data",
        )
        for path in ("//data", "/a/../b", "/./a")
    ),
    *(
        (link_rules.prefix_is_a_folder, lambda prefix=prefix: DataRepositorySpec(prefix=prefix), message)
        for prefix, message in (
            ("s3://b/runs", "'prefix' is 's3://b/runs'; give the folder without s3://b/: runs"),
            ("runs//a", "'prefix' is 'runs//a', with a folder without a name between // in it; give runs/a"),
        )
    ),
    (
        rules.efa_is_a_flag,
        lambda: LustreSpec(efa="no"),  # type: ignore[arg-type]
        "'efa' is 'no'; give True or False",
    ),
    (
        rules.data_repositories_are_specs,
        lambda: LustreSpec(data_repositories=None),  # type: ignore[arg-type]
        "'data_repositories' is None; give a tuple of DataRepositorySpec(...), empty for no links",
    ),
    (
        rules.data_repositories_are_specs,
        lambda: LustreSpec(data_repositories=DATA),  # type: ignore[arg-type]
        "'data_repositories' is a DataRepositorySpec; give a tuple of DataRepositorySpec(...), empty for no links",
    ),
    (
        rules.data_repositories_are_specs,
        lambda: LustreSpec(data_repositories=[{"path": "/data"}]),  # type: ignore[arg-type]
        "'data_repositories' has {'path': '/data'}; give DataRepositorySpec(path=..., prefix=...)",
    ),
    (
        link_rules.export_deletions_is_a_flag,
        lambda: DataRepositorySpec(export_deletions="no"),  # type: ignore[arg-type]
        "'export_deletions' is 'no'; give True or False",
    ),
    (
        link_rules.i_know_that_rm_deletes_objects_is_a_flag,
        lambda: DataRepositorySpec(i_know_that_rm_deletes_objects="no"),  # type: ignore[arg-type]
        "'i_know_that_rm_deletes_objects' is 'no'; give True or False",
    ),
    (
        link_rules.deleting_objects_takes_two_keys,
        lambda: DataRepositorySpec(export_deletions=True),
        "'export_deletions' is true, so that 'rm' on Lustre deletes the objects in S3; "
        "set 'i_know_that_rm_deletes_objects' to true as well, or leave both out to keep the objects",
    ),
    (
        link_rules.deleting_objects_takes_two_keys,
        lambda: DataRepositorySpec(i_know_that_rm_deletes_objects=True),
        "'i_know_that_rm_deletes_objects' is true, but 'export_deletions' is not, so that nothing is deleted; "
        "set both to true, or leave both out",
    ),
]


@pytest.mark.parametrize(("make", "message"), [row[1:] for row in BROKEN], ids=[row[0].__name__ for row in BROKEN])
def test_a_broken_rule_is_told(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.args == (message,)


def test_every_rule_is_applied_and_tested() -> None:
    assert set(rules.RULES) == rules_of(rules)
    assert set(link_rules.RULES) == rules_of(link_rules)
    assert {rule for rule, _, _ in BROKEN} == rules_of(rules) | rules_of(link_rules)


def test_mistakes_are_told_together() -> None:
    with pytest.raises(InputError) as caught:
        LustreSpec(capacity_gib=1000, throughput_mbps_per_tib=1)
    assert caught.value.args == (
        "'throughput_mbps_per_tib' is 1; give one of 125, 250, 500, 1000",
        "'capacity_gib' is 1000, which Lustre does not offer; give 1200 or a multiple of 2400, such as 1200",
    )


@pytest.mark.parametrize("deployment_type", ["PERSISTENT_2", "SCRATCH_2"])
@pytest.mark.parametrize("capacity", [1200, 2400, 4800, 24000])
def test_sizes_that_lustre_offers(capacity: int, deployment_type: str) -> None:
    assert LustreSpec(capacity_gib=capacity, deployment_type=deployment_type).capacity_gib == capacity


@pytest.mark.parametrize(("throughput", "capacity"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_sizes_that_lustre_offers_with_efa(throughput: int, capacity: int) -> None:
    for gib in (capacity, 2 * capacity):
        assert LustreSpec(capacity_gib=gib, throughput_mbps_per_tib=throughput, efa=True).capacity_gib == gib
    with pytest.raises(InputError, match=f"multiples of {capacity}; give {capacity}, or start at 4800"):
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


def test_eight_links_side_by_side_are_allowed() -> None:
    links = tuple(DataRepositorySpec(path=f"/data{n}", prefix=f"{n}") for n in range(8))
    assert LustreSpec(data_repositories=links).data_repositories == links


@pytest.mark.parametrize("efa", [False, True])
def test_a_size_known_at_deployment_leaves_the_rest_checked(efa: bool) -> None:
    size = Token.as_number({"Ref": "Size"})
    assert LustreSpec(capacity_gib=size, efa=efa).capacity_gib == size
    with pytest.raises(InputError, match=r"^'throughput_mbps_per_tib' is 1;"):
        LustreSpec(capacity_gib=size, throughput_mbps_per_tib=1, efa=efa)


@pytest.mark.parametrize("efa", [False, True])
def test_a_throughput_known_at_deployment_is_taken(efa: bool) -> None:
    throughput = Token.as_number({"Ref": "Throughput"})
    spec = LustreSpec(throughput_mbps_per_tib=throughput, capacity_gib=1200, efa=efa)
    assert spec.mbps_per_tib == throughput


def test_a_prefix_known_at_deployment_is_taken() -> None:
    prefix = Token.as_string({"Ref": "Prefix"})
    assert DataRepositorySpec(prefix=prefix).prefix == prefix


def test_a_throughput_that_is_no_number() -> None:
    with pytest.raises(InputError) as caught:
        LustreSpec(throughput_mbps_per_tib=[125], efa=True)  # type: ignore[arg-type]
    assert str(caught.value) == "'throughput_mbps_per_tib' is [125]; give one of 125, 250, 500, 1000"
