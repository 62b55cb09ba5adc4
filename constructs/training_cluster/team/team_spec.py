"""The values of a team, and the rules over several teams."""

from collections.abc import Collection, Mapping
from typing import Annotated

from pydantic import Field

from training_cluster.identity.folder_access import Folder
from training_cluster.identity.principal_arns import PrincipalArns
from training_cluster.platform.open_namespaces import SYSTEM_NAMESPACES
from training_workloads.mpijob.programs import UID
from training_workloads.names import dns_label
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, at_least, unknown

__all__ = ["TEAM_FOLDER", "TeamSpec", "in_folder", "valid_teams"]

# Those that Kubernetes makes, and those of this library's parts; kube-... are reserved too.
_RESERVED_NAMESPACES = ("default", *SYSTEM_NAMESPACES)

# A pod looks for `github.com`, `wandb.ai` or `host.ec2.internal` in the cluster first, where a namespace `com`, `ai` or
# `internal` answers, and for `store.vision.svc` in a namespace `svc`. All ends of two letters are those of countries.
# https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#namespaces-and-dns (read 2026-11-28)
_ENDS_OF_NAMES = (
    *("app", "arpa", "aws", "biz", "cloud", "com", "dev", "edu", "gov", "info", "int", "mil", "net", "online", "org"),
    *("page", "pro", "run", "site", "tech", "xyz"),
    *("cluster", "internal", "local", "pod", "svc"),
)

#: The folder of the bucket with the folders of the teams.
TEAM_FOLDER = "teams"

# User 1000 is that of the images and of jobs outside teams, 65534 the kernel's for files without an owner.
_FIRST_USER, _LAST_USER = UID + 1, 65533

_MEMBERS = "[arn:aws:iam::111122223333:role/Vision]"


class TeamSpec(Spec):
    """A team: people who trust each other, and share a namespace that other teams cannot enter.

    Attributes:
        user_id: User and group of the team's pods, and so the owner of its files, 1001 to 65533. No other team has it,
            and it does not change: files keep their owner.
        namespace: Namespace of the team's jobs. Default: the team's name.
        member_arns: IAM roles or users that may create jobs in the namespace, and nothing outside of it. Default: none.
        gpus: GPUs that the team has by right, by node group, such as `{gpu: 8}`. It borrows what other teams do not
            use, and gives that back when they need it. Default: none by right.
        prefix: Folder of the bucket with the team's data, and no other team's. Default: `teams/<name>`.
    """

    user_id: Annotated[int, Checked(at_least, _FIRST_USER, _LAST_USER)] = Field(examples=[str(_FIRST_USER)])
    namespace: Annotated[str, Checked(dns_label)] | None = Field(default=None, examples=["vision"])
    member_arns: PrincipalArns = Field(default=(), examples=[_MEMBERS])
    gpus: dict[str, Annotated[int, Checked(at_least, 1)]] = Field(default={}, examples=["{gpu: 8}"])
    prefix: Folder | None = Field(default=None, examples=["teams/vision"])

    def namespace_of(self, name: str) -> str:
        """Return the namespace of the team of this name."""
        return self.namespace or name

    def prefix_of(self, name: str) -> str:
        """Return the folder of the team of this name, without a slash at its ends."""
        return (self.prefix or f"{TEAM_FOLDER}/{name}").strip("/")


def valid_teams(teams: Mapping[str, TeamSpec], *, gpus: Mapping[str, int], admin_arns: Collection[str]) -> Problems:
    """Reject teams that share what separates them, GPUs that the cluster does not have, and members with more rights.

    Args:
        teams: The teams by name.
        gpus: GPUs of the node groups at their maximum size.
        admin_arns: Administrators of the cluster.
    """
    for number, (name, team) in enumerate(teams.items()):
        problems = [*_own_namespace(name, team), *_members_are_no_administrators(team, admin_arns)]
        for other in list(teams)[:number]:
            problems += _separate(name, team, other, teams[other])
        for group in team.gpus:
            problems += unknown("gpus", group, gpus)
        yield from (problem.under(name) for problem in problems)
    for group, there in gpus.items():
        yield from _fits(group, there, {name: team.gpus[group] for name, team in teams.items() if group in team.gpus})


def _own_namespace(name: str, team: TeamSpec) -> Problems:
    """Reject a name of which no namespace can be made, and the namespaces of the cluster's own services."""
    yield from dns_label("", name)
    namespace = team.namespace_of(name)
    if namespace in _RESERVED_NAMESPACES or namespace.startswith("kube-"):
        allowed, fix = "pods of the cluster run there, with rights that a team's pods lack", "give another namespace"
        yield Problem(path=("namespace",), given=namespace, allowed=allowed, fix=fix)
    elif namespace in _ENDS_OF_NAMES or len(namespace) == len("ai"):
        allowed = (
            f"names of hosts end in it, so pods of all teams would take its Services for hosts such as x.{namespace}"
        )
        yield Problem(path=("namespace",), given=namespace, allowed=allowed, fix=f"give another, such as {name}-team")


def _members_are_no_administrators(team: TeamSpec, admin_arns: Collection[str]) -> Problems:
    """Reject a second access entry: EKS allows one for each principal."""
    for index, arn in enumerate(team.member_arns):
        if arn in admin_arns:
            allowed = "admin_arns has it too, and an administrator may do everything in all namespaces"
            yield Problem(path=("member_arns", index), given=arn, allowed=allowed, fix="omit it in one of the two")


def _separate(name: str, team: TeamSpec, other: str, its: TeamSpec) -> Problems:
    """Reject a team that shares its user, its namespace or its folder with another."""
    if team.user_id == its.user_id:
        allowed, fix = f"it is that of the team {other!r}, whose files it owns", "give each team another number"
        yield Problem(path=("user_id",), given=team.user_id, allowed=allowed, fix=fix)
    if (namespace := team.namespace_of(name)) == its.namespace_of(other):
        allowed, fix = f"it is that of the team {other!r}", "give each team another namespace"
        yield Problem(path=("namespace",), given=namespace, allowed=allowed, fix=fix)
    folders = team.prefix_of(name), its.prefix_of(other)
    if in_folder(*folders) or in_folder(*reversed(folders)):
        allowed, fix = f"the team {other!r} has {folders[1]!r}", "give each team a folder outside of the others'"
        yield Problem(path=("prefix",), given=team.prefix or folders[0], allowed=allowed, fix=fix)


def in_folder(folder: str, parent: str) -> bool:
    """Return whether a folder of the bucket is another, or in it."""
    return f"{folder.strip('/')}/".startswith(f"{parent.strip('/')}/".removeprefix("/"))


def _fits(group: str, there: int, shares: Mapping[str, int]) -> Problems:
    """Reject more GPUs by right than a node group has."""
    if sum(shares.values()) > there:
        *_, last = shares
        allowed = (
            f"the node group {group!r} has {there} GPUs at its max_size, and the teams have {sum(shares.values())} by "
            f"right ({', '.join(f'{name}: {gpus}' for name, gpus in shares.items())})"
        )
        fix = "lower the GPUs of a team, or raise max_size: idle GPUs of others are borrowed in any case"
        yield Problem(path=(last, "gpus", group), given=shares[last], allowed=allowed, fix=fix)
