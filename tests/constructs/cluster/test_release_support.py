from datetime import date

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from training_cluster.cluster.release_support import warn_of_the_end_of_support


def warning(version: str, today: date) -> str | None:
    stack = cdk.Stack(cdk.App(), "Stack")
    warn_of_the_end_of_support(stack, version, today)
    found = assertions.Annotations.from_stack(stack).find_warning("*", assertions.Match.any_value())
    return str(found[0].entry.data) if found else None


@pytest.mark.parametrize(
    ("version", "today", "text"),
    [
        (
            "1.34",
            date(2026, 11, 23),
            "Kubernetes 1.34 leaves EKS's standard support on 2026-12-02, in 9 days: from then on the control plane "
            "costs 0.60 USD per hour instead of 0.10; set kubernetes_version to the next release",
        ),
        (
            "1.34",
            date(2026, 12, 2),
            "Kubernetes 1.34 left EKS's standard support on 2026-12-02: the control plane costs 0.60 USD per hour "
            "instead of 0.10 until 2027-12-02, when EKS upgrades it by itself",
        ),
        ("1.31", date(2026, 11, 26), "EKS's support of Kubernetes 1.31 ended on 2026-11-26"),
        ("1.38", date(2026, 11, 23), "this library does not know Kubernetes 1.38"),
    ],
)
def test_warns_of_what_costs_more_or_ends(version: str, today: date, text: str) -> None:
    assert text in str(warning(version, today))


def test_says_nothing_while_the_end_is_more_than_sixty_days_away() -> None:
    assert warning("1.35", date(2027, 1, 25)) is None
    assert "in 60 days" in str(warning("1.35", date(2027, 1, 26)))
