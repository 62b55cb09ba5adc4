import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from tests.training.s3_server import S3Server
from training.runtime.errors import UserError
from training.staging.s3_source import Item, Share, Source, listing, parse, share


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("s3://data/set", Source("data", "set/")),
        ("s3://data/set/train/", Source("data", "set/train/")),
        ("s3://data", Source("data", "")),
        ("s3://data/", Source("data", "")),
    ],
)
def test_parses_a_prefix_as_a_folder(url: str, source: Source) -> None:
    assert parse(url) == source


@pytest.mark.parametrize("url", ["data/set", "s3:/data", "https://data.s3.amazonaws.com/set", "s3:///set"])
def test_rejects_other_addresses(url: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(url)
    assert str(caught.value) == f"'--source' is {url}; give s3://bucket/prefix"


def put(s3: S3Server, *keys: str) -> None:
    for key in keys:
        s3.client.put_object(Bucket="data", Key=key, Body=b"12345")


def test_lists_only_the_objects_below_the_prefix(s3: S3Server) -> None:
    put(s3, "set/b", "set/a/c", "set/empty/", "set/", "set.txt", "settings/d", "set/.staged/0-of-1.jsonl")
    found = listing(s3.client, parse("s3://data/set"))
    tag = '"827ccb0eea8a706c4c34a16891f84e7b"'
    assert found.items == [Item("set/a/c", "a/c", 5, tag), Item("set/b", "b", 5, tag)]
    assert found.folders == ["empty"]


def test_lists_several_pages(s3: S3Server) -> None:
    for number in range(1010):
        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object("data", f"set/{number:04}", b"")
    assert len(listing(s3.client, parse("s3://data/set")).items) == 1010


@pytest.mark.parametrize("key", ["set/../../etc/passwd", "set//etc/passwd", "set/a/./b", "set/a/..", "set/a//"])
def test_rejects_a_key_outside_the_target(s3: S3Server, key: str) -> None:
    put(s3, "set/good", key)
    with pytest.raises(UserError) as caught:
        listing(s3.client, parse("s3://data/set"))
    assert str(caught.value) == (
        f"the key {key!r} cannot be a file below '--target': it has an empty part, '.' or '..'; rename the object"
    )


@pytest.mark.parametrize("other", ["set/a/b/c", "set/a/"])
def test_rejects_a_key_that_is_a_file_and_a_folder(s3: S3Server, other: str) -> None:
    put(s3, "set/a", other)
    with pytest.raises(UserError) as caught:
        listing(s3.client, parse("s3://data/set"))
    assert str(caught.value) == "'set/a' in s3://data is an object and a folder of others; rename one of the two"


def test_the_shares_are_disjoint_and_cover_all_items() -> None:
    items = [Item(str(number), str(number), 1, "") for number in range(10)]
    assert sorted(item.key for index in range(4) for item in Share(index, 4).of(items)) == [item.key for item in items]


def test_a_single_pod_has_all_items() -> None:
    assert share(1, {}) == Share(0, 1)
    assert share(4, {"JOB_COMPLETION_INDEX": "3"}) == Share(3, 4)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {},
            "'--shards' is 4, but JOB_COMPLETION_INDEX is ''; run an Indexed Job, or give --shards 1",
        ),
        (
            {"JOB_COMPLETION_INDEX": "4"},
            "JOB_COMPLETION_INDEX is 4, but '--shards' is 4; give the Job's number of completions",
        ),
    ],
)
def test_rejects_an_invalid_share(environment: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        share(4, environment)
    assert str(caught.value) == message
