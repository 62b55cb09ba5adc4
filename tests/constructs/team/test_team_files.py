"""Attempts of a member of one team on the files of another, and what happens, by the templates alone.

Objects in S3 and mounts of EFS are decided by the policies. Lustre is a folder here: the Jobs of the template set its
owners, and a pod sees the folder that its volume mounts, as the user and without capabilities, as Pod Security and the
admission policies of teams have it.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.constructs.team.policy_evaluation import allowed
from tests.constructs.team.shared_site import TEAMS, manifests, shared_cluster, template_of

Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def resources() -> Resources:
    return template_of(shared_cluster(TEAMS))


def role_of(resources: Resources, team: str) -> tuple[str, dict[str, Any]]:
    """Return the role of a team's service account, with its id."""
    (role,) = [
        each["Properties"]["RoleArn"].strip("<>").partition(".")[0]
        for each in resources.values()
        if each["Type"] == "AWS::EKS::PodIdentityAssociation" and each["Properties"]["Namespace"] == team
    ]
    return role, resources[role]["Properties"]


def permissions(resources: Resources, role: str) -> list[dict[str, Any]]:
    policies = [each["Properties"] for each in resources.values() if each["Type"] == "AWS::IAM::Policy"]
    attached = [policy for policy in policies if f"<{role}>" in policy["Roles"]]
    return [statement for policy in attached for statement in policy["PolicyDocument"]["Statement"]]


def bucket_arn(resources: Resources) -> str:
    (bucket,) = [id for id, each in resources.items() if each["Type"] == "AWS::S3::Bucket" and "Log" not in id]
    return f"<{bucket}.Arn>"


@pytest.mark.parametrize(
    ("action", "key", "expected"),
    [
        ("s3:GetObject", "teams/vision/runs/a/model.keras", True),
        ("s3:PutObject", "teams/vision/runs/a/model.keras", True),
        ("s3:GetObject", "teams/nlp/runs/a/model.keras", False),
        ("s3:PutObject", "teams/nlp/runs/a/model.keras", False),
        ("s3:DeleteObject", "teams/nlp/runs/a/model.keras", False),
        ("s3:DeleteObjectVersion", "teams/nlp/runs/a/model.keras", False),
        ("s3:PutObjectAcl", "teams/nlp/runs/a/model.keras", False),
        ("s3:GetObject", "teams/vision2/a", False),
        ("s3:GetObject", "runs/of-jobs-outside-teams", False),
        ("s3:PutObject", "data/shared", False),
    ],
)
def test_objects_of_the_bucket(action: str, key: str, expected: bool, resources: Resources) -> None:
    role, _ = role_of(resources, "vision")
    assert allowed(permissions(resources, role), action, f"{bucket_arn(resources)}/{key}") is expected


@pytest.mark.parametrize(
    ("prefix", "expected"), [("teams/vision/", True), ("teams/nlp/", False), ("teams/", False), ("", False)]
)
def test_lists_of_the_bucket(prefix: str, expected: bool, resources: Resources) -> None:
    role, _ = role_of(resources, "vision")
    context = {"s3:prefix": prefix}
    assert allowed(permissions(resources, role), "s3:ListBucket", bucket_arn(resources), context) is expected


@pytest.mark.parametrize(("service", "expected"), [("s3", True), ("ec2", False), ("secretsmanager", False)])
def test_the_key_decrypts_objects_alone(service: str, expected: bool, resources: Resources) -> None:
    role, _ = role_of(resources, "vision")
    (key,) = [f"<{id}.Arn>" for id, each in resources.items() if each["Type"] == "AWS::KMS::Key"]
    context = {"kms:ViaService": f"{service}.<AWS::Region>.<AWS::URLSuffix>"}
    assert allowed(permissions(resources, role), "kms:Decrypt", key, context) is expected


@pytest.mark.parametrize(
    ("namespace", "service_account", "expected"),
    [("nlp", "nlp", True), ("vision", "nlp", False), ("vision", "vision", False), ("default", "nlp", False)],
)
def test_the_role_of_another_team(namespace: str, service_account: str, expected: bool, resources: Resources) -> None:
    _, role = role_of(resources, "nlp")
    (cluster,) = [id for id, each in resources.items() if each["Type"] == "AWS::EKS::Cluster"]
    context = {
        "aws:SourceAccount": "<AWS::AccountId>",
        "aws:RequestTag/eks-cluster-name": f"<{cluster}>",
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    statements = role["AssumeRolePolicyDocument"]["Statement"]
    assert allowed(statements, "sts:AssumeRole", "", context) is expected


def test_interfaces_by_the_role_of_a_node(resources: Resources) -> None:
    nodes = [each for each in resources.values() if "ec2.amazonaws.com" in str(each.get("Properties"))]
    policies = [each["Properties"].get("ManagedPolicyArns", []) for each in nodes if each["Type"] == "AWS::IAM::Role"]
    assert len(policies) == 2
    assert not any("CNI" in arn or "ReadOnly" in arn for arns in policies for arn in arns)


_POINT = {"elasticfilesystem:AccessPointArn": "arn:<AWS::Partition>:elasticfilesystem:<AWS::Region>:<AWS::AccountId>"}
_ROOT = {"elasticfilesystem:AccessedViaMountTarget": "true", "aws:SecureTransport": "true"}
_MOUNTED = _ROOT | {key: f"{start}:access-point/fsap-1" for key, start in _POINT.items()}


@pytest.mark.parametrize(
    ("action", "context", "expected"),
    [
        ("elasticfilesystem:ClientMount", _MOUNTED, True),
        ("elasticfilesystem:ClientWrite", _MOUNTED, True),
        # An NFS client of a pod at the root, where it would choose its user.
        ("elasticfilesystem:ClientMount", _ROOT, False),
        ("elasticfilesystem:ClientWrite", _ROOT, False),
        ("elasticfilesystem:ClientRootAccess", _MOUNTED, False),
        ("elasticfilesystem:ClientMount", _MOUNTED | {"aws:SecureTransport": "false"}, False),
        ("elasticfilesystem:ClientMount", _MOUNTED | {"elasticfilesystem:AccessedViaMountTarget": "false"}, False),
    ],
)
def test_mounts_of_efs(action: str, context: dict[str, str], expected: bool, resources: Resources) -> None:
    (policy,) = [
        each["Properties"]["FileSystemPolicy"]["Statement"]
        for each in resources.values()
        if each["Type"] == "AWS::EFS::FileSystem"
    ]
    assert allowed(policy, action, "", context) is expected


def ownership_jobs(resources: Resources) -> list[dict[str, Any]]:
    jobs = [each for each in manifests(resources) if each["kind"] == "Job"]
    return [job for job in jobs if "-ownership-" in job["metadata"]["name"]]


@pytest.fixture(scope="module")
def lustre(resources: Resources, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of two teams and shared ones, as a new file system after the Jobs."""
    root = tmp_path_factory.mktemp("lustre")
    root.chmod(0o755)
    jobs = ownership_jobs(resources)
    assert len(jobs) == 3
    for job in jobs:
        (container,) = job["spec"]["template"]["spec"]["containers"]
        subprocess.run(["sh", "-c", container["command"][-1].replace("/volume", str(root))], check=True)
    for user, folder in ((1001, "teams/vision"), (1002, "teams/nlp"), (1000, "data")):
        script = ["sh", "-c", "umask 022; mkdir runs; echo old > runs/model"]
        subprocess.run(["setpriv", *as_user(user), *script], cwd=root / folder, check=True)
    return root


def as_user(user: int) -> list[str]:
    return [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]


def mounted(resources: Resources, view: str) -> tuple[str, str]:
    """Return the folder, and the options of the mount, of the team vision's claim; `whole` is the root."""
    if view == "whole":
        return "", "rw"
    (volume,) = [
        each["spec"]
        for each in manifests(resources)
        if each["kind"] == "PersistentVolume" and each["metadata"]["name"] == f"{view}-vision"
    ]
    folder = volume["csi"]["volumeAttributes"]["mountname"].partition("/")[2]
    return folder, "ro" if "ro" in volume["mountOptions"] else "rw"


def attempt(resources: Resources, lustre: Path, *, user: int, view: str, script: str) -> bool:
    """Return whether a pod's command succeeds at /fsx, and puts everything back."""
    folder, options = mounted(resources, view)
    backup = lustre.parent / "backup"
    shutil.rmtree(backup, ignore_errors=True)
    subprocess.run(["cp", "-a", lustre, backup], check=True)
    source = str(lustre / folder).rstrip("/")
    mount = f"mount -t tmpfs none /mnt && mkdir /mnt/fsx && mount --bind {source} /mnt/fsx"
    mount += f" && mount -o remount,bind,{options} /mnt/fsx && cd /mnt/fsx"
    command = f"{mount} && exec setpriv {' '.join(as_user(user))} sh -c '{script}'"
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, check=False)
    # Where it was created the mount is of a pod: Lustre's root cannot be replaced.
    subprocess.run(["sh", "-c", f"rm -rf {lustre}/* && cp -a {backup}/. {lustre}/"], check=True)
    return done.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="sets owners, and acts as several users: needs root")
@pytest.mark.parametrize(
    ("user", "view", "script", "expected"),
    [
        (1001, "training-lustre", "cat runs/model", True),
        (1001, "training-lustre", "echo new > runs/model && rm -r runs && mkdir runs", True),
        (1001, "training-lustre-data", "cat runs/model", True),
        (1001, "training-lustre-data", "echo new > runs/model", False),
        (1000, "training-lustre-data", "echo new > runs/model", False),
        (1000, "training-lustre-data", "rm -r runs", False),
        # Above the folder that the volume mounts there is no other.
        (1001, "training-lustre", "ls ../nlp", False),
        (1002, "training-lustre", "cat ../nlp/runs/model", False),
        (1001, "training-lustre", "ln -s ../nlp other && cat other/runs/model", False),
        # A pod that the admission policy let through: another user than the team's.
        (1002, "training-lustre", "cat runs/model", False),
        (1000, "training-lustre", "touch new", False),
        # Where a pod sees all of the file system, the folders still are the teams'.
        (1001, "whole", "ls teams/nlp", False),
        (1001, "whole", "cat teams/nlp/runs/model", False),
        (1001, "whole", "echo new > teams/nlp/runs/model", False),
        (1001, "whole", "rm -r teams/nlp", False),
        (1001, "whole", "mv teams/nlp teams/old", False),
        (1001, "whole", "mkdir teams/third", False),
        (1000, "whole", "cat teams/nlp/runs/model", False),
        (1000, "whole", "mv teams old", False),
        (1001, "whole", "echo new > data/runs/model", False),
    ],
)
def test_files_of_lustre(user: int, view: str, script: str, expected: bool, resources: Resources, lustre: Path) -> None:
    assert attempt(resources, lustre, user=user, view=view, script=script) is expected


def test_a_link_in_a_teams_folder_gives_it_no_folder_of_another(resources: Resources) -> None:
    """The Jobs run as root: they change nothing below what a team owns, where a link could lead elsewhere."""
    changed = [
        word
        for each in ownership_jobs(resources)
        for word in each["spec"]["template"]["spec"]["containers"][0]["command"][-1].split()
        if word.startswith("/volume")
    ]
    owned = {"/volume/data", "/volume/runs", "/volume/teams/vision", "/volume/teams/nlp"}
    assert set(changed) == owned
    assert not any(path.startswith(f"{parent}/") for path in owned for parent in owned)


def test_no_claim_of_a_teams_namespace_is_of_the_whole_file_system(resources: Resources) -> None:
    namespaces = {
        each["spec"]["claimRef"]["namespace"]
        for each in manifests(resources)
        if each["kind"] == "PersistentVolume"
        and each["spec"]["csi"]["volumeAttributes"].get("mountname", "").endswith(".LustreMountName>")
    }
    assert namespaces == {"default", "training-system"}
