"""Changes of a deployed configuration, each with what it does to the node groups, and how to find that out."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import aws_cdk as cdk

from app import build
from tests.deploy.emulated_aws.node_group_updates import REPLACING, changed, rejection
from training_cluster import ClusterConfig, load_config

ROOT = Path(__file__).parents[2]
ZONES = ["us-east-1a", "us-east-1b"]
MIRROR = "111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror"
KEY = "arn:aws:kms:us-east-1:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
VPC = {
    "vpc_id": "vpc-0123456789abcdef0",
    "private_subnet_ids": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
}
LUSTRE = {"file_system_id": "fs-0123456789abcdef0", "mount_name": "abcdefgh", "capacity_gib": 2400}
EFS = {"file_system_id": "fs-0123456789abcdef1", "access_point_id": "fsap-0123456789abcdef0"}

#: Two node groups, in two zones; the changes are of the first.
DEPLOYED: dict[str, Any] = {
    "availability_zones": ZONES,
    "node_groups": {
        "gpu": {"instance_type": "p4d.24xlarge", "max_size": 4},
        "other": {"instance_type": "g6e.48xlarge", "availability_zone": "us-east-1b"},
    },
    "lustre": {"availability_zone": "us-east-1a", "further_zones": ["us-east-1b"]},
    "service_accounts": {"trainer": {"prefix": "runs", "namespace": "team"}},
    "alarm_email": "team@example.com",
}

#: new: another group, and the deployed one is deleted. replaced: the same, by CloudFormation's own rule. nodes: EKS
#: replaces the nodes one after the other. settings: the nodes stay. rejected: CloudFormation has no call for it.
Effect = Literal["none", "new", "replaced", "nodes", "settings", "rejected"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of values, by dotted path; None removes a key."""

    key: str
    after: Mapping[str, Any]
    before: Mapping[str, Any] = field(default_factory=dict)
    gpu: Effect = "none"
    other: Effect = "none"
    system: Effect = "none"
    tag: str | None = None
    #: Part of the names of exports that the data stack loses: docs/deploy.md has the order.
    lost_export: str | None = None


def of_group(key: str, value: Any, effect: Effect, **before: Any) -> Change:
    """Return the change of a key of the first node group."""
    path = "node_groups.gpu"
    given = {f"{path}.{name}": each for name, each in before.items()}
    return Change(key=f"{path}.{key}", before=given, after={**given, f"{path}.{key}": value}, gpu=effect)


def of_cluster(key: str, value: Any, **before: Any) -> Change:
    """Return the change of a key without an effect on node groups."""
    given = {name.replace("__", "."): each for name, each in before.items()}
    return Change(key=key, before=given, after={**given, key: value})


_OVERRIDE = {"condition": "AcceleratedHardwareReady", "reason": "NvidiaXID64Error", "action": "Replace"}
_TEAM = {"vision": {"user_id": 2001}}
_QUEUED = {"node_groups.gpu.min_size": 4, "node_groups.other.min_size": 1}

CHANGES = [
    of_group("instance_type", "p5.48xlarge", "new"),
    of_group("capacity_type", "SPOT", "new"),
    of_group("placement_group", "my-group", "nodes"),
    of_group("placement_group", False, "new"),
    of_group("efa", False, "new"),
    of_group("availability_zone", "us-east-1b", "new"),
    # A reservation decides the placement.
    of_group("capacity_reservation_id", "cr-0123456789abcdef0", "new"),
    of_group(
        "capacity_reservation_id", "cr-0123456789abcdef1", "nodes", capacity_reservation_id="cr-0123456789abcdef0"
    ),
    of_group("ami_release", "1.35.0-20260917", "nodes"),
    Change(key="system_nodes.ami_release", after={"system_nodes.ami_release": "1.35.0-20260917"}, system="nodes"),
    of_group("root_volume_mib_per_second", 500, "nodes"),
    of_group("root_volume_iops", 6000, "nodes"),
    of_group("fast_image_pull", True, "nodes"),
    of_group("ssm", True, "none"),
    of_group("min_size", 1, "settings"),
    of_group("desired_size", 1, "settings"),
    of_group("max_size", 8, "settings"),
    of_group("node_repair", {"enabled": False}, "settings"),
    of_group("node_repair.max_parallel_nodes_repaired_count", 2, "settings"),
    of_group("node_repair.max_parallel_nodes_repaired_percentage", 50, "settings"),
    of_group("node_repair.max_unhealthy_node_threshold_count", 3, "settings"),
    of_group("node_repair.max_unhealthy_node_threshold_percentage", 50, "settings"),
    of_group("node_repair.overrides", [_OVERRIDE], "settings"),
    Change(key="kubernetes_version", after={"kubernetes_version": "1.36"}, gpu="nodes", other="nodes", system="nodes"),
    Change(key="tags", after={}, tag="vision", gpu="nodes", other="nodes", system="nodes"),
    # CloudFormation replaces the cluster too, which has a fixed name: it rejects that (docs/upgrade.md).
    Change(key="existing_vpc", after={"existing_vpc": VPC}, gpu="new", other="new", system="replaced"),
    Change(key="availability_zones", after={"availability_zones": [*ZONES, "us-east-1c"]}, system="replaced"),
    # The subnet has the same name in another zone.
    Change(
        key="availability_zones",
        before={"node_groups.other": None, "lustre": {}},
        after={"node_groups.other": None, "lustre": {}, "availability_zones": ZONES[::-1]},
        gpu="new",
    ),
    # Names in place of the region's first two zones, which only the deployment knows: the same ones, perhaps.
    Change(
        key="availability_zones",
        before={"node_groups.other": None, "lustre": {}, "availability_zones": []},
        after={"node_groups.other": None, "lustre": {}, "availability_zones": ZONES},
        gpu="new",
    ),
    of_cluster("node_groups", {**DEPLOYED["node_groups"], "more": {"instance_type": "p5.48xlarge"}}),
    of_cluster("lustre", None, node_groups__other=None, lustre={"capacity_gib": 4800}),
    Change(
        key="lustre.availability_zone",
        before={"node_groups.other": None, "lustre": {}},
        after={"node_groups.other": None, "lustre": {"availability_zone": "us-east-1b"}},
        gpu="new",
    ),
    Change(
        key="lustre.further_zones",
        after={"node_groups.other": None, "lustre.further_zones": []},
        other="new",
    ),
    of_cluster("lustre.deployment_type", "SCRATCH_2"),
    of_cluster("lustre.capacity_gib", 4800),
    of_cluster("lustre.throughput_mbps_per_tib", 250),
    of_cluster("lustre.efa", True, lustre__capacity_gib=38400),
    of_cluster("lustre.data_repositories", []),
    of_cluster("existing_lustre", LUSTRE, existing_vpc=VPC, lustre=None, node_groups__other=None),
    of_cluster("existing_efs", EFS, existing_vpc=VPC),
    Change(key="existing_bucket", after={"existing_bucket": "my-data"}, lost_export="Bucket83908E77"),
    # EKS does not change the key of secrets: CloudFormation replaces the cluster, as with another VPC.
    Change(
        key="existing_key",
        after={"existing_key": KEY},
        gpu="nodes",
        other="nodes",
        system="nodes",
        lost_export="Key961B73FD",
    ),
    Change(key="existing_repository", after={"existing_repository": "images"}, lost_export="Images2D38C313"),
    of_cluster("permissions_boundary", "arn:aws:iam::111122223333:policy/Boundary"),
    # CloudFormation replaces the cluster, which has a fixed name: it rejects that.
    of_cluster("cluster_role", "arn:aws:iam::111122223333:role/Cluster"),
    Change(
        key="node_role",
        after={"node_role": "arn:aws:iam::111122223333:role/Nodes"},
        gpu="replaced",
        other="replaced",
        system="replaced",
    ),
    Change(key="system_nodes.instance_type", after={"system_nodes.instance_type": "m6i.xlarge"}, system="new"),
    Change(key="system_nodes.min_size", after={"system_nodes.min_size": 3}, system="settings"),
    Change(key="system_nodes.max_size", after={"system_nodes.max_size": 6}, system="settings"),
    of_cluster("addon_versions", {"vpc-cni": "v1.20.4-eksbuild.1"}),
    of_cluster("efs", True),
    of_cluster("vpc_cidr", "10.1.0.0/16"),
    of_cluster("nat", False, mirror=MIRROR),
    of_cluster("job_queue", True),
    of_cluster("job_queue.queue_name", "train", job_queue={}),
    of_cluster("job_queue.max_jobs", 20, job_queue={}),
    of_cluster("job_queue.topology", True, job_queue={}, **_QUEUED),
    of_cluster("ebs", True),
    of_cluster("metrics_server", True),
    of_cluster("gang_scheduler", "volcano"),
    of_cluster("mirror", MIRROR),
    of_cluster("pre_pull_images", ["111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1"]),
    of_cluster("public_access_cidrs", ["203.0.113.7/32"]),
    of_cluster("allow_any_address", True, public_access_cidrs=["203.0.113.7/32"]),
    of_cluster("admin_arns", ["arn:aws:iam::111122223333:role/Admin"]),
    of_cluster("service_accounts", {}),
    of_cluster("service_accounts.trainer.prefix", "data"),
    of_cluster("service_accounts.trainer.namespace", "default"),
    of_cluster("service_accounts.trainer.allow_delete", True),
    of_cluster("teams", {"vision": {"user_id": 2001, "gpus": {"gpu": 8}}}, job_queue={}),
    of_cluster("teams.vision.user_id", 2002, job_queue={}, teams=_TEAM),
    of_cluster("teams.vision.namespace", "research", job_queue={}, teams=_TEAM),
    of_cluster("teams.vision.member_arns", ["arn:aws:iam::111122223333:role/Vision"], job_queue={}, teams=_TEAM),
    of_cluster("teams.vision.gpus", {"gpu": 16}, job_queue={}, teams=_TEAM),
    of_cluster("teams.vision.prefix", "vision", job_queue={}, teams=_TEAM),
    of_cluster("gpu_details", True),
    of_cluster("deletion_protection", True),
    of_cluster("sagemaker", True),
    of_cluster("alarm_email", None),
    of_cluster("monthly_budget_usd", 1000),
]

#: Two keys in one deployment. If the nodes and their settings change, CloudFormation rejects both.
PAIRS: list[tuple[tuple[str, ...], Effect]] = [
    (("node_groups.gpu.instance_type", "node_groups.gpu.max_size"), "new"),
    (("node_groups.gpu.instance_type", "node_groups.gpu.root_volume_iops"), "new"),
    (("node_groups.gpu.instance_type", "tags"), "new"),
    (("node_groups.gpu.efa", "node_groups.gpu.node_repair"), "new"),
    (("node_groups.gpu.placement_group", "kubernetes_version"), "new"),
    (("node_groups.gpu.capacity_type", "node_groups.gpu.desired_size"), "new"),
    (("node_groups.gpu.min_size", "node_groups.gpu.node_repair"), "settings"),
    (("node_groups.gpu.ami_release", "tags"), "nodes"),
    (("node_groups.gpu.root_volume_mib_per_second", "node_groups.gpu.fast_image_pull"), "nodes"),
    (("node_groups.gpu.ami_release", "node_groups.gpu.max_size"), "rejected"),
    (("kubernetes_version", "node_groups.gpu.node_repair"), "rejected"),
    (("tags", "node_groups.gpu.min_size"), "rejected"),
]


def configuration(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the deployed configuration with other values."""
    whole = copy.deepcopy(DEPLOYED)
    for path, value in values.items():
        *sections, key = path.split(".")
        section = whole
        for each in sections:
            section = section.setdefault(each, {})
        if value is None:
            section.pop(key, None)
        else:
            section[key] = copy.deepcopy(value)
    return whole


Templates = dict[str, dict[str, Any]]


def templates(values: Mapping[str, Any], tag: str | None = None) -> Templates:
    """Return the templates of the deployed configuration with other values, by stack."""
    return _templates(json.dumps(configuration(values)), tag)


def templates_of_file(path: Path) -> Templates:
    """Return the templates of a configuration file."""
    return _synthesized(load_config(path), None)


@cache
def _templates(text: str, tag: str | None) -> Templates:
    return _synthesized(ClusterConfig.model_validate_json(text), tag)


def _synthesized(config: ClusterConfig, tag: str | None) -> Templates:
    app = cdk.App(context=json.loads((ROOT / "cdk.json").read_text())["context"])
    if tag:
        cdk.Tags.of(app).add("team", tag)
    build(config, app)
    return {stack.stack_name: stack.template for stack in app.synth().stacks}


def effects(before: Templates, after: Templates) -> dict[str, Effect]:
    """Return the effect of a deployment on each node group that is deployed, by the label of its nodes."""
    old, new = (each["TrainingClusterStack"]["Resources"] for each in (before, after))
    groups = {id: each for id, each in old.items() if each["Type"] == "AWS::EKS::Nodegroup"}
    return {_label(each): _effect(old, new, id) for id, each in groups.items()}


def _label(group: dict[str, Any]) -> str:
    label: str = group["Properties"].get("Labels", {}).get("training-cluster/node-group", "system")
    return label


def _effect(old: dict[str, Any], new: dict[str, Any], id: str) -> Effect:
    if id not in new:
        return "new"
    properties = changed(old[id]["Properties"], new[id]["Properties"])
    template = old[id]["Properties"]["LaunchTemplate"]["Id"]["Ref"]
    # Its version is an attribute of the template.
    properties |= {"LaunchTemplate"} if old[template] != new.get(template) else set()
    if properties & REPLACING:
        return "replaced"
    if rejection(properties):
        return "rejected"
    if "LaunchTemplate" in properties or properties & {"Version", "ReleaseVersion"}:
        return "nodes"
    return "settings" if properties else "none"


def exports(found: Templates) -> set[str]:
    """Return the exports of the data stack."""
    outputs = found["TrainingDataStack"].get("Outputs", {}).values()
    return {each["Export"]["Name"] for each in outputs if "Export" in each}
