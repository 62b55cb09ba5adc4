"""The folders of a team in the cluster's file systems, and the claims by which its pods see these and no others.

docs/adr/0031-the-folders-of-teams-are-in-one-data-repository.md
"""

from collections.abc import Sequence
from typing import Any

import cdk8s
from aws_cdk import aws_efs as efs
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import after_admission, after_namespaces
from training_cluster.single_owner import own
from training_cluster.storage.elastic_file_system import ElasticVolume
from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_cluster.storage.lustre_spec import DataRepository
from training_cluster.storage.lustre_volume import LustreVolume
from training_cluster.team.team import Team
from training_cluster.team.team_spec import TEAM_FOLDER, in_folder
from training_workloads import EfsVolumeChart, LustreFoldersChart, LustreVolumeChart
from training_workloads.jobs.volumes import DATA_DIRECTORY, SHARED_DIRECTORIES
from training_workloads.platform.lustre_folders import SYSTEM_NAMESPACE, OwnedFolder
from training_workloads.platform.volumes import volume_name
from training_workloads.validation import Problem, Problems, check

__all__ = ["DATA_CLAIM_SUFFIX", "TeamStorage"]

#: What the claim of the shared datasets has behind the name of the file system's claim.
DATA_CLAIM_SUFFIX = "-data"

# The team alone: other users may not list the folder.
_MODE = "770"


class TeamStorage(Construct):
    """The part of a team in each file system of the cluster.

    On Lustre the team's folder belongs to its user, and its volume mounts that folder alone; a second one mounts the
    shared datasets, which it cannot change. On EFS it has an access point.

    Attributes:
        folders: The team's folder in each file system, by the name of its claim.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, team: Team) -> None:
        """Define no part yet."""
        super().__init__(scope, id)
        self._cluster, self._team = cluster, team
        self.folders: dict[str, str] = {}

    def add(self, volume: Construct) -> None:
        """Define the team's part of the file system of a volume.

        Raises:
            InputError: The file system does not mirror the team's folder of the bucket, or the folder is one of the
                cluster's jobs.
        """
        if isinstance(volume, LustreVolume):
            self._add_lustre(volume)
        elif isinstance(volume, ElasticVolume):
            self._add_efs(volume)

    def _add_lustre(self, volume: LustreVolume) -> None:
        team, claim = self._team, volume.claim
        self.folders[claim] = folder = _folder(team.prefix, volume.file_system)
        check(_own_folder(team, folder), _mirrored(team, volume.file_system))
        parts = Construct(self, claim)
        owned = OwnedFolder(path=folder, user_id=team.user_id, mode=_MODE)
        making: Any = {"claim": f"{claim}-{team.namespace}", "folders": [owned], "mirror": volume.mirror}
        made = self._apply(parts, "Folder", LustreFoldersChart(cdk8s.App(), "Folder", **volume.address, **making))
        made.node.add_dependency(volume)
        after_admission(made, self._cluster)
        for name, options in (
            (claim, {"folder": folder}),
            (f"{claim}{DATA_CLAIM_SUFFIX}", {"folder": DATA_DIRECTORY, "read_only": True}),
        ):
            self._own_volume(name)
            where: Any = {**volume.address, "claim": name, "namespace": team.namespace, **options}
            self._in_namespace(self._apply(parts, name, LustreVolumeChart(cdk8s.App(), "Volume", **where)), after=made)

    def _add_efs(self, volume: ElasticVolume) -> None:
        team, user = self._team, str(self._team.user_id)
        self.folders[volume.claim] = folder = f"team-{team.name}"
        parts = Construct(self, volume.claim)
        self._own_volume(volume.claim)
        owner = efs.CfnAccessPoint.CreationInfoProperty(owner_uid=user, owner_gid=user, permissions=_MODE)
        point = efs.CfnAccessPoint(
            parts,
            "AccessPoint",
            file_system_id=volume.file_system.file_system_id,
            posix_user=efs.CfnAccessPoint.PosixUserProperty(uid=user, gid=user),
            # Directly below the root: EFS creates the folder, and says nothing about the owner of folders above it.
            root_directory=efs.CfnAccessPoint.RootDirectoryProperty(path=f"/{folder}", creation_info=owner),
        )
        chart = EfsVolumeChart(
            cdk8s.App(),
            "Volume",
            file_system_id=volume.file_system.file_system_id,
            access_point_id=point.attr_access_point_id,
            claim=volume.claim,
            namespace=team.namespace,
        )
        self._in_namespace(self._apply(parts, "Volume", chart), after=volume)

    def _own_volume(self, claim: str) -> None:
        own(self, self._cluster, f"volume {volume_name(claim, self._team.namespace)}")

    def _apply(self, scope: Construct, id: str, chart: cdk8s.Chart) -> eks.KubernetesManifest:
        # The namespace of the Jobs that make folders is of the volume, which is applied before.
        documents = [document for document in chart.to_json() if document["kind"] != "Namespace"]
        return apply_manifest(scope, id, cluster=self._cluster, documents=documents)

    def _in_namespace(self, manifest: eks.KubernetesManifest, *, after: Construct) -> None:
        manifest.node.add_dependency(after)
        after_namespaces(manifest, self._cluster, self._team.namespace)


def _folder(prefix: str, file_system: Any) -> str:
    """Return the folder that mirrors a prefix of the bucket; without data repositories the one of the same name."""
    mirrors = [each for each in _repositories(file_system) if in_folder(prefix, each.prefix)]
    if not mirrors:
        return prefix
    closest = max(mirrors, key=lambda repository: len(repository.prefix.strip("/")))
    inner = prefix.removeprefix(closest.prefix.strip("/")).strip("/")
    return "/".join(filter(None, (closest.path.strip("/"), inner)))


def _repositories(file_system: Any) -> Sequence[DataRepository]:
    return file_system.spec.data_repositories if isinstance(file_system, LustreFileSystem) else ()


def _mirrored(team: Team, file_system: Any) -> Problems:
    """Reject a folder of the bucket that no data repository mirrors, where others are mirrored."""
    prefixes = [repository.prefix for repository in _repositories(file_system)]
    if prefixes and not any(in_folder(team.prefix, each) for each in prefixes):
        parent = team.prefix.rpartition("/")[0] or team.prefix
        yield Problem(
            path=(team.name, "prefix"),
            given=team.prefix,
            allowed=f"Lustre mirrors {', '.join(prefixes)} of the bucket, so files of the team would be in no bucket",
            fix=f"add the data repository {{path: /{parent}, prefix: {parent}}} for all teams; it changes no other one",
        )


def _own_folder(team: Team, folder: str) -> Problems:
    """Reject a folder that others can replace, because its parent is theirs, and the cluster's own namespace."""
    first, path = folder.partition("/")[0], (team.name, "prefix")
    fix = f"give another, such as {TEAM_FOLDER}/{team.name}"
    if not folder:
        allowed = "as a folder of Lustre that is the whole file system, with the files of all"
        yield Problem(path=path, given=team.prefix, allowed=allowed, fix=fix)
    elif first in SHARED_DIRECTORIES:
        allowed = f"as a folder of Lustre it is in /{first}, where jobs outside teams could replace it"
        yield Problem(path=path, given=team.prefix, allowed=allowed, fix=fix)
    if team.namespace == SYSTEM_NAMESPACE:
        allowed, fix = "pods of the cluster run there, as root", "give another namespace"
        yield Problem(path=(team.name, "namespace"), given=team.namespace, allowed=allowed, fix=fix)
