from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk

from tests.constructs.site import Site
from training_cluster import TrainingCluster

VISION, BOTH = (f"arn:aws:iam::111122223333:{name}" for name in ("role/Vision", "user/both"))


def entries(site: Site) -> dict[str, Mapping[str, Any]]:
    """Return the access entries of members by principal."""
    found = site.template().find_resources("AWS::EKS::AccessEntry")
    return {
        str(each["Properties"]["PrincipalArn"]): each
        for each in found.values()
        if "KubernetesGroups" in each["Properties"]
    }


def test_a_principal_has_one_entry_with_the_namespaces_of_its_teams(cluster: TrainingCluster, site: Site) -> None:
    cluster.add_team("vision", user_id=2001, member_arns=[VISION, BOTH])
    cluster.add_team("speech", user_id=2002, namespace="asr", member_arns=[BOTH])
    found = entries(site)
    assert set(found) == {VISION, BOTH}
    for arn, namespaces, groups in (
        (VISION, ["vision"], ["training-cluster:vision"]),
        (BOTH, ["vision", "asr"], ["training-cluster:vision", "training-cluster:speech"]),
    ):
        properties = found[arn]["Properties"]
        (policy,) = properties["AccessPolicies"]
        assert policy["PolicyArn"]["Fn::Join"][1][-1] == ":eks::aws:cluster-access-policy/AmazonEKSEditPolicy"
        assert policy["AccessScope"] == {"Type": "namespace", "Namespaces": namespaces}
        assert properties["KubernetesGroups"] == groups


def test_members_come_in_when_the_border_is_there(cluster: TrainingCluster, site: Site) -> None:
    cluster.add_team("vision", user_id=2001, member_arns=[VISION])
    resources = site.template().to_json()["Resources"]
    (border,) = entries(site)[VISION]["DependsOn"]
    assert "no-system-priority" in resources[border]["Properties"]["Manifest"]
    before = [resources[id]["Properties"].get("Manifest", "") for id in resources[border]["DependsOn"]]
    assert any("ValidatingAdmissionPolicy" in each for each in before)


def test_a_principal_that_is_a_token(cluster: TrainingCluster, site: Site) -> None:
    arns = [cdk.Token.as_string({"Ref": name}) for name in ("One", "Two")]
    cluster.add_team("vision", user_id=2001, member_arns=arns)
    cluster.add_team("speech", user_id=2002, member_arns=arns[:1])
    assert {name: len(each["Properties"]["KubernetesGroups"]) for name, each in entries(site).items()} == {
        "{'Ref': 'One'}": 2,
        "{'Ref': 'Two'}": 1,
    }
