"""The values of a team, and the rules over several teams."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from training_cluster.identity.folder_access import Folder
from training_cluster.identity.principal_arns import PrincipalArns
from training_workloads.mpijob.programs import UID
from training_workloads.names import dns_label
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, at_least

__all__ = ["TEAM_FOLDER", "TeamSpec", "separate_teams"]

#: The folder of the bucket with the folders of the teams.
TEAM_FOLDER = "teams"

# User 1000 is that of the images and of jobs outside teams, 65534 nobody's.
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


def separate_teams(teams: Mapping[str, TeamSpec]) -> Problems:
    """Reject a team that shares its user, its namespace or its folder with one before it."""
    for number, (name, team) in enumerate(teams.items()):
        for other in list(teams)[:number]:
            yield from (problem.under(name) for problem in _separate(name, team, other, teams[other]))


def _separate(name: str, team: TeamSpec, other: str, its: TeamSpec) -> Problems:
    if team.user_id == its.user_id:
        allowed, fix = f"it is that of the team {other!r}, whose files it owns", "give each team another number"
        yield Problem(path=("user_id",), given=team.user_id, allowed=allowed, fix=fix)
    if (namespace := team.namespace_of(name)) == its.namespace_of(other):
        allowed, fix = f"it is that of the team {other!r}", "give each team a namespace of its own"
        yield Problem(path=("namespace",), given=namespace, allowed=allowed, fix=fix)
    folders = team.prefix_of(name), its.prefix_of(other)
    if _overlap(*folders):
        allowed, fix = f"the team {other!r} has {folders[1]!r}", "give each team a folder outside of the others'"
        yield Problem(path=("prefix",), given=folders[0], allowed=allowed, fix=fix)


def _overlap(first: str, second: str) -> bool:
    """Return whether one folder is the other, or in it."""
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
