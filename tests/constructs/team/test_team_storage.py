"""The parts of teams in the file systems of a cluster, in the template."""

from typing import Any

import pytest

from tests.constructs.team.shared_site import TEAMS, manifests, shared_cluster, template_of
from tests.schemas import check_manifest
from training_cluster import DataRepository
from training_workloads import InputError

Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def resources() -> Resources:
    return template_of(shared_cluster(TEAMS))


@pytest.fixture(scope="module")
def documents(resources: Resources) -> list[dict[str, Any]]:
    return manifests(resources)


def volume_of(documents: list[dict[str, Any]], namespace: str, claim: str) -> dict[str, Any]:
    """Return the spec of the volume of a claim."""
    (found,) = [
        document
        for document in documents
        if document["kind"] == "PersistentVolumeClaim"
        and (document["metadata"]["namespace"], document["metadata"]["name"]) == (namespace, claim)
    ]
    (volume,) = [
        document["spec"]
        for document in documents
        if document["kind"] == "PersistentVolume" and document["metadata"]["name"] == found["spec"]["volumeName"]
    ]
    return dict(volume)


@pytest.mark.parametrize("team", TEAMS)
def test_a_team_mounts_its_folder_of_lustre_alone(team: str, documents: list[dict[str, Any]]) -> None:
    volume = volume_of(documents, team, "training-lustre")
    assert volume["csi"]["volumeAttributes"]["mountname"].endswith(f".LustreMountName>/teams/{team}")
    assert volume["mountOptions"] == ["flock"]


@pytest.mark.parametrize("team", TEAMS)
def test_a_team_reads_the_shared_datasets(team: str, documents: list[dict[str, Any]]) -> None:
    volume = volume_of(documents, team, "training-lustre-data")
    assert volume["csi"]["volumeAttributes"]["mountname"].endswith(".LustreMountName>/data")
    assert volume["mountOptions"] == ["flock", "ro"]


def test_no_volume_is_of_another_namespaces_claim(documents: list[dict[str, Any]]) -> None:
    """A member may create claims: one that names a volume before its own claim exists must not get it."""
    claims = {
        each["spec"]["volumeName"]: (each["metadata"]["namespace"], each["metadata"]["name"])
        for each in documents
        if each["kind"] == "PersistentVolumeClaim"
    }
    volumes = [each for each in documents if each["kind"] == "PersistentVolume"]
    assert len(volumes) == len(claims) == 11
    for volume in volumes:
        reference = volume["spec"]["claimRef"]
        assert (reference["namespace"], reference["name"]) == claims[volume["metadata"]["name"]]


def test_volumes_of_one_pod_differ(documents: list[dict[str, Any]]) -> None:
    for team in TEAMS:
        names = ("training-lustre", "training-lustre-data", "training-efs")
        assert len({volume_of(documents, team, name)["csi"]["volumeHandle"] for name in names}) == 3


def test_the_folder_is_made_before_it_is_mounted(resources: Resources) -> None:
    (own,) = [
        each for each in resources.values() if "LustreMountName>/teams/vision" in each["Properties"].get("Manifest", "")
    ]
    making = [id for id in own["DependsOn"] if "mkdir -p /volume/teams/vision" in str(resources[id])]
    assert len(making) == 1
    jobs = [each for each in manifests({"": resources[making[0]]}) if each["kind"] == "Job"]
    assert [job["metadata"]["namespace"] for job in jobs] == ["training-system"]


def test_every_object_is_valid(documents: list[dict[str, Any]]) -> None:
    for document in documents:
        if document["kind"] in ("PersistentVolume", "PersistentVolumeClaim", "Job"):
            check_manifest(document)


def test_an_access_point_acts_as_the_teams_user(resources: Resources, documents: list[dict[str, Any]]) -> None:
    points = {id: each["Properties"] for id, each in resources.items() if each["Type"] == "AWS::EFS::AccessPoint"}
    found = {point["RootDirectory"]["Path"]: (id, point) for id, point in points.items()}
    assert set(found) == {"/training", "/team-vision", "/team-nlp"}
    for team, user in TEAMS.items():
        id, point = found[f"/team-{team}"]
        assert point["PosixUser"] == {"Uid": str(user), "Gid": str(user)}
        owner = {"OwnerUid": str(user), "OwnerGid": str(user), "Permissions": "770"}
        assert point["RootDirectory"]["CreationInfo"] == owner
        handle = volume_of(documents, team, "training-efs")["csi"]["volumeHandle"]
        assert handle.endswith(f"::<{id}.AccessPointId>")


def test_one_data_repository_mirrors_the_folders_of_all_teams(resources: Resources) -> None:
    (association,) = [each for each in resources.values() if each["Type"] == "AWS::FSx::DataRepositoryAssociation"]
    assert association["Properties"]["FileSystemPath"] == "/"


def test_a_second_team_changes_no_file_system_and_nothing_of_the_first(resources: Resources) -> None:
    before = template_of(shared_cluster({"vision": 1001}))
    stored = ("AWS::FSx::", "AWS::EFS::", "AWS::S3::", "AWS::KMS::")
    kept = [id for id, each in before.items() if each["Type"].startswith(stored) or "teamsvisionstorage" in id.lower()]
    assert len(kept) > 10
    for id in kept:
        # The order may change: a claim waits for all namespaces.
        for field in before[id].keys() - {"DependsOn"}:
            assert resources[id][field] == before[id][field], id
    # Nothing at all leaves the stack.
    assert set(before) <= set(resources)


def repositories(*pairs: tuple[str, str]) -> list[DataRepository]:
    return [DataRepository(path=path, prefix=prefix) for path, prefix in pairs]


def test_a_folder_is_where_a_data_repository_mirrors_it() -> None:
    given = repositories(("/data", "data"), ("/shared", "teams"))
    cluster = shared_cluster({"vision": 1001}, data_repositories=given)
    mounted = [
        each["spec"]["csi"]["volumeAttributes"].get("mountname", "")
        for each in manifests(template_of(cluster))
        if each["kind"] == "PersistentVolume"
    ]
    assert [name.partition("/")[2] for name in mounted if "/" in name] == ["shared/vision", "data"]


def rejection(prefix: str | None = None, namespace: str | None = None, **lustre: Any) -> str:
    cluster = shared_cluster({}, **lustre)
    with pytest.raises(InputError) as caught:
        cluster.add_team("vision", user_id=1001, prefix=prefix, namespace=namespace)
    return str(caught.value)


def test_rejects_the_namespace_of_the_jobs_that_run_as_root() -> None:
    assert rejection(namespace="training-system") == (
        "'vision.namespace' is 'training-system', but pods of the cluster run there, as root; give another namespace"
    )


def test_rejects_a_folder_that_no_data_repository_mirrors() -> None:
    assert rejection(data_repositories=repositories(("/data", "data"), ("/runs", "runs"))) == (
        "'vision.prefix' is 'teams/vision', but Lustre mirrors data, runs of the bucket, so files of the team would be "
        "in no bucket; add the data repository {path: /teams, prefix: teams} for all teams; it changes no other one"
    )


@pytest.mark.parametrize(
    ("prefix", "problem"),
    [
        ("runs/vision", "as a folder of Lustre it is in /runs, where jobs outside teams could replace it"),
        ("/", "as a folder of Lustre that is the whole file system, with the files of all"),
    ],
)
def test_rejects_a_folder_that_others_own(prefix: str, problem: str) -> None:
    assert f"but {problem}; give another, such as teams/vision" in rejection(prefix)
