"""EKS upgrades a cluster by one minor release, and an update never goes back."""

import pytest

from tests.constructs.changes.test_findings import findings, resource


@pytest.mark.parametrize(
    ("before", "after", "remedy"),
    [
        ("1.34", "1.36", "one release at a time: set kubernetes_version to 1.35 and deploy, then to the next"),
        (
            "1.36",
            "1.35",
            "set kubernetes_version to 1.36: a deployment upgrades only",
        ),
    ],
)
def test_a_release_that_eks_rejects(before: str, after: str, remedy: str) -> None:
    old, new = ({"Cluster": resource("AWS::EKS::Cluster", Version=each)} for each in (before, after))
    (found,) = findings(old, new)
    assert (found.outcome, found.keys) == ("rejected", ("kubernetes_version",))
    assert found.effect == f"Kubernetes {after} in place of {before}: EKS upgrades by one minor release at a time"
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize("after", ["1.35", "1.36", {"Ref": "Release"}])
def test_the_same_release_the_next_one_and_one_that_only_the_deployment_knows(after: object) -> None:
    old, new = ({"Cluster": resource("AWS::EKS::Cluster", Version=each)} for each in ("1.35", after))
    assert findings(old, new) == []
