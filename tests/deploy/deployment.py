"""A configuration in an account of the emulator, from the first deployment to the last."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.aws_account import Aws
from tests.deploy.cdk_cli import CdkCli, templates
from tests.deploy.deployed_stacks import DeployedStacks
from tests.deploy.emulator import ROOT, Emulator
from tests.deploy.inventory import inventory
from tests.deploy.read_back import READERS, Properties, Resource, read
from training_cluster import ClusterConfig, load_config
from training_workloads.catalog.versions import KUBERNETES_VERSIONS

#: The release of the first deployment of the default, and the one to which a test updates it.
OLDER, NEWER = KUBERNETES_VERSIONS[-2:]

_SCENARIOS = ROOT / "tests/stacks/scenarios"
#: Configuration files by name.
CONFIGURATIONS = {
    "default": ROOT / "cluster.yaml",
    "p4d-reservation": _SCENARIOS / "p4d-reservation.yaml",
    "p5-capacity-block": _SCENARIOS / "p5-capacity-block.yaml",
    "mixed": _SCENARIOS / "mixed-scaled-to-zero.yaml",
    "without-nat": _SCENARIOS / "p6-b300.yaml",
}


@dataclass(frozen=True)
class Change:
    """What differs between two states, as pairs of a type and a logical id."""

    added: set[tuple[str, str]]
    removed: set[tuple[str, str]]
    replaced: set[tuple[str, str]]
    updated: set[tuple[str, str]]

    def types(self, field: str) -> set[str]:
        """Return the types of the resources that were added, removed, replaced or updated."""
        return {type_name for type_name, _ in getattr(self, field)}


#: Physical id, and what boto3 reads, by type and logical id.
State = dict[tuple[str, str], tuple[str, Properties]]


class Deployment:
    """One configuration in one account."""

    def __init__(self, name: str, emulator: Emulator, folder: Path) -> None:
        """Bootstrap the account.

        Args:
            name: The configuration, of `CONFIGURATIONS`.
            emulator: The running emulator.
            folder: Folder for what the CDK writes.
        """
        self.name, self.emulator = name, emulator
        self.file = CONFIGURATIONS[name]
        zones = self.config.availability_zones
        account = f"{1111_2222_3330 + list(CONFIGURATIONS).index(name)}"
        self.aws = Aws(emulator, account, zones[0][:-1] if zones else "us-east-1")
        self.cdk = CdkCli(aws=self.aws, folder=folder)
        self.cdk.bootstrap()
        self.empty = inventory(self.aws)
        context = {"kubernetes_version": OLDER} if name == "default" else {}
        self.context: dict[str, str] = context
        self.assembly = self.cdk.synth("first", self.file, **context)

    @cached_property
    def config(self) -> ClusterConfig:
        """The configuration."""
        return load_config(self.file)

    def deploy(self) -> None:
        """Deploy the stacks that were synthesized last."""
        self.cdk.deploy(self.assembly)

    def change(self, **context: str) -> Path:
        """Synthesize with other values; they hold for later changes too."""
        self.context |= context
        self.assembly = self.cdk.synth(("-".join(context) or "again").replace(".", "-"), self.file, **self.context)
        return self.assembly

    def change_tag(self, team: str) -> None:
        """Synthesize with a tag on everything; later changes do not have it."""
        app, context = "tests.deploy.tagged_app", {**self.context, "team": team}
        self.assembly = self.cdk.synth(f"team-{team}", self.file, app=app, **context)

    def change_sections(self, **sections: Any) -> None:
        """Synthesize with other sections of the configuration file; later changes do not have them."""
        self.assembly = self.cdk.synth("-".join(sections), self.with_sections(**sections), **self.context)

    def with_sections(self, **sections: Any) -> Path:
        """Write a configuration file in which some sections are others."""
        path = self.cdk.folder / "changed.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load(self.file.read_text()) | sections))
        return path

    @property
    def templates(self) -> dict[str, dict[str, Any]]:
        """The templates that were synthesized last."""
        return templates(self.assembly)

    def stacks(self) -> DeployedStacks:
        """Read the deployed stacks."""
        return DeployedStacks(self.aws, self.templates)

    def left(self) -> set[str]:
        """Return the resources that the account has in addition to those after its bootstrap."""
        return inventory(self.aws) - self.empty

    @property
    def cluster(self) -> str:
        """Name of the cluster."""
        (cluster,) = self.stacks().of_type("AWS::EKS::Cluster")
        return cluster.physical_id

    @property
    def objects(self) -> set[str]:
        """Kind, namespace and name of each object that is in the cluster."""
        return self.emulator.objects(self.cluster)

    def events(self, type_name: str) -> list[str]:
        """Return the reasons that CloudFormation gave for resources of a type in the cluster's stack."""
        pages = self.aws("cloudformation").get_paginator("describe_stack_events")
        events = [each for page in pages.paginate(StackName="TrainingClusterStack") for each in page["StackEvents"]]
        return [each.get("ResourceStatusReason", "") for each in events if each["ResourceType"] == type_name]

    def state(self) -> State:
        """Return all resources as they are in AWS."""
        return {
            (each.type, each.logical_id): (each.physical_id, self._read(each)) for each in self.stacks().resources()
        }

    def _read(self, resource: Resource) -> Properties:
        found = read(self.aws, resource) if resource.type in READERS else resource.properties
        without: Properties = _without_times(found)
        return without


#: What changes with time or use, and is nothing that a user chose.
_TIMES = {
    "StoredBytes",
    "ModifiedAt",
    "CreatedAt",
    "LastUpdatedTime",
    "AlarmConfigurationUpdatedTimestamp",
    "StateUpdatedTimestamp",
}


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def difference(before: State, after: State) -> Change:
    """Compare two states."""
    both = before.keys() & after.keys()
    return Change(
        added=set(after.keys() - before.keys()),
        removed=set(before.keys() - after.keys()),
        replaced={key for key in both if before[key][0] != after[key][0]},
        updated={key for key in both if before[key][0] == after[key][0] and before[key][1] != after[key][1]},
    )
