"""A team on a shared cluster: a namespace with a border, a share of the GPUs, and a user that owns its files."""

from typing import Annotated, Any, cast

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import Cluster, is_a
from training_cluster.platform.job_queue import JobQueue
from training_cluster.platform.namespaces import add_namespace
from training_cluster.team.team_spec import TeamSpec
from training_workloads.keywords import keywords_of
from training_workloads.platform.team_manifests import team_labels, team_manifests
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems

__all__ = ["Team"]


def _queue(name: str, queue: Any) -> Problems:
    if not is_a(queue, "add_team"):
        yield Problem(path=(name,), given=queue, fix="give the cluster's queue, such as cluster.job_queue")


class TeamProps(TeamSpec):
    """The keywords of `Team`.

    Attributes:
        cluster: The cluster.
        job_queue: The queue of the cluster.
    """

    cluster: Cluster
    job_queue: Annotated[JobQueue, Checked(_queue)]


class Team(Construct):
    """The namespace of a team, which other teams cannot enter, and the team's part of the queue.

    `cluster.add_team` also gives the members their rights, and defines the admission policies without which the labels
    of the namespace have no effect.

    Attributes:
        name: Name of the team, which is the id.
        namespace: Its namespace.
        user_id: User and group of its pods.
        prefix: Its folder of the bucket, without a slash at its ends.
        spec: The values as given.
        border: The manifest of the namespace and of what its members cannot change in it.
    """

    @keywords_of(TeamProps)
    def __init__(self, scope: Construct, id: str, props: TeamProps) -> None:
        """Define the namespace and the part of the queue.

        Raises:
            InputError: A value is not allowed, the cluster has no queue, or another construct defines the namespace.
        """
        super().__init__(scope, id)
        self.name, self.user_id, self.spec = id, props.user_id, TeamSpec(**props.given(TeamSpec))
        self.namespace, self.prefix = props.namespace_of(id), props.prefix_of(id)
        self.border = add_namespace(
            self,
            self.namespace,
            cluster=cast(eks.ICluster, props.cluster),
            labels=team_labels(id, props.user_id),
            documents=team_manifests(id, self.namespace),
        )
        props.job_queue.add_team(id, namespace=self.namespace, gpus=props.gpus)
