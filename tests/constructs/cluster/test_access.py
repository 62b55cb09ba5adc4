from collections.abc import Iterable
from typing import Any

import aws_cdk as cdk
import pytest

from tests.constructs.keyword import problems_of
from training_cluster.cluster.access import PublicCidrs, public_access_is_limited
from training_workloads.validation import Problem


def texts(problems: Iterable[Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def test_accepts_what_eks_accepts() -> None:
    assert not texts(problems_of(PublicCidrs, ["203.0.113.7/32", "198.51.100.0/24"]))


@pytest.mark.parametrize(
    ("cidrs", "message"),
    [
        ("203.0.113.7/32", "'a' is '203.0.113.7/32'; give a list: ['203.0.113.7/32']"),
        (["203.0.113.7"], "'a[0]' is '203.0.113.7'; did you mean 203.0.113.7/32?"),
        (["203.0.113.7/24"], "'a[0]' is '203.0.113.7/24'; did you mean 203.0.113.0/24?"),
        (["me"], "'a[0]' is 'me', but that is not an IPv4 range; write one such as 203.0.113.7/32"),
        (
            ["10.1.0.0/16"],
            "'a[0]' is '10.1.0.0/16', but it is private; give the public addresses of your users, and omit those "
            "inside the VPC: they reach the API anyway",
        ),
        (
            ["0.0.0.0/0"],
            "'a' is ['0.0.0.0/0'], but that is the whole internet; give the addresses of your users, such as "
            "203.0.113.7/32, or set allow_any_address to true",
        ),
        (
            ["0.0.0.0/1", "128.0.0.0/1"],
            "'a' is ['0.0.0.0/1', '128.0.0.0/1'], but that is the whole internet; give the addresses of your users, "
            "such as 203.0.113.7/32, or set allow_any_address to true",
        ),
        (
            [f"203.0.113.{host}/32" for host in range(41)],
            "'a' is 'a list of 41 ranges'; give 40 or fewer, as larger ranges",
        ),
        (
            ["0.0.0.0/1", "203.0.113.7/32"],
            "'a' is ['0.0.0.0/1', '203.0.113.7/32'], but 0.0.0.0/1 is a large part of the internet (shorter than /8); "
            "give the addresses of your users, such as 203.0.113.7/32, or set allow_any_address to true",
        ),
        (["203.0.113.7/0"], "'a[0]' is '203.0.113.7/0'; write a range such as 203.0.113.7/32"),
        *(
            (
                [cidr],
                f"'a[0]' is '{cidr}', but no host on the internet has such an address; give the public addresses of "
                "your users, such as 203.0.113.7/32",
            )
            for cidr in ("127.0.0.1/32", "169.254.0.0/16", "224.0.0.0/8", "240.0.0.0/8", "0.0.0.0/8")
        ),
        ([None], "'a[0]' is None; give text"),
        (None, "'a' is None; give a list"),
    ],
)
def test_rejects_addresses_that_eks_rejects(cidrs: Any, message: str) -> None:
    found = problems_of(PublicCidrs, cidrs)
    wide = [] if found else [*public_access_is_limited(cidrs, allow_any_address=False)]
    assert [text.replace("'public_access_cidrs'", "'a'") for text in texts([*found, *wide])] == [message]


def test_reports_every_address() -> None:
    problems = problems_of(PublicCidrs, ["10.0.0.0/8", "0.0.0.0/0", "x"])
    assert [(problem.path, problem.given) for problem in problems] == [(("a", 0), "10.0.0.0/8"), (("a", 2), "x")]


def test_accepts_a_large_part_of_the_internet_with_a_second_key() -> None:
    assert not texts(public_access_is_limited(["0.0.0.0/1"], allow_any_address=True))
    assert not texts(public_access_is_limited(["8.0.0.0/8"], allow_any_address=False))


def test_accepts_the_whole_internet_with_a_second_key() -> None:
    assert not texts(public_access_is_limited(["0.0.0.0/0"], allow_any_address=True))


def test_accepts_an_address_that_is_a_token() -> None:
    assert not texts(problems_of(PublicCidrs, [cdk.Token.as_string({"Ref": "Office"}), "203.0.113.7/32"]))
