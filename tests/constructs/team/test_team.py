import json
from typing import Any

import pytest
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from tests.constructs.team.shared_api import manifests
from tests.schemas import check_object
from tests.workloads.platform.kueue_schema import check_kueue_object
from training_cluster import Team, TrainingCluster
from training_workloads import InputError

ROLE = "arn:aws:iam::111122223333:role/Vision"


def documents(site: Site, namespace: str) -> dict[tuple[str, str], dict[str, Any]]:
    found = [each for each in manifests(site.template().to_json()) if each["metadata"].get("namespace") == namespace]
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def ids(site: Site, text: str) -> list[str]:
    """Return the ids of the manifests with a text."""
    found = site.template().find_resources("Custom::AWSCDK-EKS-KubernetesResource")
    return [id for id, each in found.items() if text in json.dumps(each["Properties"]["Manifest"]).replace("\\", "")]


def test_a_team_has_its_name_and_its_own_folder(cluster: TrainingCluster) -> None:
    team = cluster.add_team("vision", user_id=2001)
    assert (team.name, team.namespace, team.user_id, team.prefix) == ("vision", "vision", 2001, "teams/vision")
    other = cluster.add_team("speech", user_id=2002, namespace="asr", prefix="/old/speech/")
    assert (other.name, other.namespace, other.prefix) == ("speech", "asr", "old/speech")
    assert dict(cluster.teams) == {"vision": team, "speech": other}


def test_the_namespace_is_labelled_and_stays(cluster: TrainingCluster, site: Site) -> None:
    cluster.add_team("vision", user_id=2001)
    (id,) = ids(site, '"kind":"Namespace","metadata":{"name":"vision"')
    resource = site.template().to_json()["Resources"][id]
    (namespace,) = json.loads(resource["Properties"]["Manifest"])
    assert resource["DeletionPolicy"] == "Retain"
    assert namespace["metadata"]["labels"] == {
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/warn": "restricted",
        "training-cluster/team": "vision",
        "training-cluster/user-id": "2001",
    }


def test_the_objects_of_the_namespace(cluster: TrainingCluster, site: Site) -> None:
    cluster.add_team("vision", user_id=2001)
    found = documents(site, "vision")
    assert set(found) == {
        ("LocalQueue", "gpu"),
        ("NetworkPolicy", "default-deny"),
        ("PodDisruptionBudget", "training-jobs"),
        ("ResourceQuota", "no-foreign-affinity"),
        ("ResourceQuota", "no-open-ports"),
        ("ResourceQuota", "no-system-priority"),
        ("Role", "team-member"),
        ("RoleBinding", "team-member"),
    }
    for document in found.values():
        if document["kind"] != "LocalQueue":
            check_object(document)


def test_the_queue_of_a_team_has_its_gpus_and_the_rest_stays_with_the_others(
    cluster: TrainingCluster, site: Site
) -> None:
    cluster.add_gpu_node_group("spot", instance_type="g5.xlarge", max_size=4, capacity_type="SPOT")
    cluster.add_team("vision", user_id=2001, gpus={"gpu": 8})
    cluster.add_team("speech", user_id=2002, gpus={"gpu": 16, "spot": 1})
    queues = [each for each in manifests(site.template().to_json()) if each["kind"] == "ClusterQueue"]
    gpus = {}
    for queue in queues:
        del queue["metadata"]["labels"]
        check_kueue_object(queue)
        assert queue["spec"]["cohortName"] == "gpu"
        (group,) = queue["spec"]["resourceGroups"]
        gpus[queue["metadata"]["name"]] = {each["name"]: each["resources"][2] for each in group["flavors"]}
    assert {name: {flavor: each["nominalQuota"] for flavor, each in of.items()} for name, of in gpus.items()} == {
        "gpu": {"gpu": 8, "spot": 3, "launchers": 0},
        "gpu-vision": {"gpu": 8, "spot": 0, "launchers": 0},
        "gpu-speech": {"gpu": 16, "spot": 1, "launchers": 0},
    }
    (chart,) = (
        each for each in properties(site.template(), "Custom::AWSCDK-EKS-HelmChart") if each["Release"] == "kueue"
    )
    configuration = json.loads(json.loads(chart["Values"])["managerConfig"]["controllerManagerConfigYaml"])
    assert configuration["fairSharing"]["preemptionStrategies"] == [
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    ]
    (selector,) = configuration["managedJobsNamespaceSelector"]["matchExpressions"]
    assert selector["values"] == ["default", "speech", "vision"]


def test_each_queue_has_an_equal_part_of_the_launchers(cluster: TrainingCluster, site: Site) -> None:
    for number, name in enumerate(["a", "b", "c", "d"]):
        cluster.add_team(name, user_id=2001 + number)
    queues = [each for each in manifests(site.template().to_json()) if each["kind"] == "ClusterQueue"]
    memory = {
        queue["metadata"]["name"]: queue["spec"]["resourceGroups"][0]["flavors"][-1]["resources"][1]["nominalQuota"]
        for queue in queues
    }
    # 12 launchers of 2 GiB: two for each team, and four for jobs outside teams.
    assert memory == {"gpu": "8Gi", "gpu-a": "4Gi", "gpu-b": "4Gi", "gpu-c": "4Gi", "gpu-d": "4Gi"}


def test_a_service_account_waits_for_the_namespace(cluster: TrainingCluster, site: Site) -> None:
    cluster.add_job_identity("train", bucket=s3.Bucket(site.stack, "Bucket"), prefix="teams/vision", namespace="vision")
    cluster.add_team("vision", user_id=2001)
    (account,) = ids(site, '"kind":"ServiceAccount"')
    (border,) = ids(site, '"kind":"ResourceQuota"')
    assert border in site.template().to_json()["Resources"][account]["DependsOn"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"user_id": 1000}, "'user_id' is 1000; give 1001 or more"),
        ({"user_id": 65534}, "'user_id' is 65534; give 65533 or less"),
        ({}, "'user_id' is missing; add it, such as 1001"),
        (
            {"user_id": 2002, "gpus": {"gpus": 8}},
            "'speech.gpus' is 'gpus', but it is not known; did you mean gpu? known: gpu",
        ),
        ({"user_id": 2002, "gpus": {"gpu": 0}}, "'gpus.gpu' is 0; give 1 or more"),
        (
            {"user_id": 2002, "gpus": {"gpu": 32}},
            "'speech.gpus.gpu' is 32, but the node group 'gpu' has 32 GPUs at its max_size, and the teams have 40 by "
            "right (vision: 8, speech: 32); lower the GPUs of a team, or raise max_size: idle GPUs of others are "
            "borrowed in any case",
        ),
        (
            {"user_id": 2001},
            "'speech.user_id' is 2001, but it is that of the team 'vision', whose files it owns; give each team "
            "another number",
        ),
        (
            {"user_id": 2002, "namespace": "vision"},
            "'speech.namespace' is 'vision', but it is that of the team 'vision'; give each team another namespace",
        ),
        (
            {"user_id": 2002, "namespace": "default"},
            "'speech.namespace' is 'default', but pods of the cluster run there, with rights that a team's pods lack; "
            "give another namespace",
        ),
        (
            {"user_id": 2002, "namespace": "kube-public"},
            "'speech.namespace' is 'kube-public', but pods of the cluster run there, with rights that a team's pods "
            "lack; give another namespace",
        ),
        *(
            (
                {"user_id": 2002, "namespace": end},
                f"'speech.namespace' is '{end}', but names of hosts end in it, so pods of all teams would take its "
                f"Services for hosts such as x.{end}; give another, such as speech-team",
            )
            for end in ("ai", "org", "svc", "internal")
        ),
        (
            {"user_id": 2002, "prefix": "teams"},
            "'speech.prefix' is 'teams', but the team 'vision' has 'teams/vision'; give each team a folder outside of "
            "the others'",
        ),
        (
            {"user_id": 2002, "prefix": "/teams/vision/speech/"},
            "'speech.prefix' is '/teams/vision/speech/', but the team 'vision' has 'teams/vision'; give each team a "
            "folder outside of the others'",
        ),
        (
            {"user_id": 2002, "prefix": "/"},
            "'speech.prefix' is '/', but the team 'vision' has 'teams/vision'; give each team a folder outside of the "
            "others'",
        ),
        (
            {"user_id": 2002, "member_arns": ["arn:aws:iam::111122223333:role/Admin"]},
            "'speech.member_arns[0]' is 'arn:aws:iam::111122223333:role/Admin', but admin_arns has it too, and an "
            "administrator may do everything in all namespaces; omit it in one of the two",
        ),
    ],
)
def test_rejects_a_team_that_is_not_separate(values: dict[str, Any], message: str, cluster: TrainingCluster) -> None:
    cluster.add_team("vision", user_id=2001, gpus={"gpu": 8})
    with pytest.raises(InputError) as error:
        cluster.add_team("speech", **values)
    assert str(error.value) == message
    assert list(cluster.teams) == ["vision"]


def test_folders_with_the_same_beginning_are_separate(cluster: TrainingCluster) -> None:
    cluster.add_team("vision", user_id=2001)
    assert cluster.add_team("vision-2", user_id=2002).prefix == "teams/vision-2"


def test_rejects_a_name_that_no_namespace_has(cluster: TrainingCluster) -> None:
    with pytest.raises(InputError) as error:
        cluster.add_team("Vision", user_id=2001)
    assert str(error.value).startswith("'Vision")


def test_rejects_a_namespace_of_others(cluster: TrainingCluster) -> None:
    cluster.add_namespaces(["vision"])
    with pytest.raises(InputError) as error:
        cluster.add_team("vision", user_id=2001)
    assert str(error.value) == (
        "'Site/Shared/Teams/vision' is 'a second namespace vision', but Site/Shared/Namespaces owns that of the "
        "cluster; remove one of the two"
    )


def test_rejects_a_cluster_without_a_queue(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Shared", vpc=site.vpc)
    with pytest.raises(InputError) as error:
        cluster.add_team("vision", user_id=2001)
    assert str(error.value) == (
        "'add_team' is 'a team', but the cluster has no queue, from which a team gets its GPUs; call add_job_queue "
        "before it"
    )


def test_alone_it_takes_a_queue(cluster: TrainingCluster) -> None:
    values: dict[str, Any] = {"cluster": cluster, "user_id": 2001, "job_queue": "gpu"}
    with pytest.raises(InputError) as error:
        Team(cluster, "vision", **values)
    assert str(error.value) == "'job_queue' is 'gpu'; give the cluster's queue, such as cluster.job_queue"
