import pytest

from tests.constructs.account.conftest import Kubernetes
from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.account.cluster_state import ClusterState, NodesOfType, PlatformPart, connect_to, read_cluster
from training_cluster.account.deployed_stack import DeployedStack, find_stack
from training_workloads.cluster.failures import ClusterError


@pytest.fixture
def account() -> StubbedAccount:
    return StubbedAccount()


@pytest.fixture
def stack(account: StubbedAccount) -> DeployedStack:
    account.answer_stack({"Cluster": ("AWS::EKS::Cluster", "training")})
    stack = find_stack(account, "TrainingClusterStack")
    assert stack
    return stack


def add_node(kubernetes: Kubernetes, name: str, kind: str, *, ready: bool = True, gpus: int = 0, efa: int = 0) -> None:
    labels = {"node.kubernetes.io/instance-type": kind}
    if kind.startswith("p5"):
        labels["vpc.amazonaws.com/efa.present"] = "true"
    allocatable = {"cpu": "1", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    if efa:
        allocatable["vpc.amazonaws.com/efa"] = str(efa)
    conditions = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    status = {"conditions": conditions, "allocatable": allocatable}
    kubernetes.add("Node", name, metadata={"labels": labels}, status=status)


def state(kubernetes: Kubernetes, account: StubbedAccount, stack: DeployedStack) -> ClusterState:
    kubernetes.known_to(account)
    with connect_to(account, stack, None) as cluster:
        return read_cluster(cluster)


def test_devices_are_compared_with_the_catalog(
    kubernetes: Kubernetes, account: StubbedAccount, stack: DeployedStack
) -> None:
    add_node(kubernetes, "a", "p5.48xlarge", gpus=8, efa=32)
    add_node(kubernetes, "b", "p5.48xlarge", gpus=7, ready=False)
    add_node(kubernetes, "c", "g5.xlarge", gpus=1)
    add_node(kubernetes, "d", "x9.huge")
    g5, p5, other = state(kubernetes, account, stack).nodes
    assert p5 == NodesOfType(
        instance_type="p5.48xlarge", nodes=2, ready=1, gpus=15, expected_gpus=16, efa=32, expected_efa=64
    )
    assert (g5.gpus, g5.expected_gpus, g5.expected_efa) == (1, 1, 0)
    assert (other.instance_type, other.expected_gpus) == ("x9.huge", None)


def test_the_platform_has_its_pods(kubernetes: Kubernetes, account: StubbedAccount, stack: DeployedStack) -> None:
    operator = {"metadata": {"namespace": "mpi-operator"}, "spec": {"replicas": 1}, "status": {"readyReplicas": 1}}
    kubernetes.add("Deployment", "mpi-operator", "apps/v1", **operator)
    # Another namespace may have one of that name.
    kubernetes.add("Deployment", "mpi-operator", "apps/v1", spec={}, status={})
    plugin = {"status": {"numberReady": 1, "desiredNumberScheduled": 2}}
    kubernetes.add("DaemonSet", "nvidia-device-plugin", "apps/v1", **plugin)
    assert state(kubernetes, account, stack).platform == (
        PlatformPart(name="mpi-operator", ready=1, wanted=1),
        PlatformPart(name="nvidia-device-plugin", ready=1, wanted=2),
        PlatformPart(name="aws-efa-k8s-device-plugin", ready=0, wanted=None),
    )


def test_jobs_of_every_namespace_are_listed(
    kubernetes: Kubernetes, account: StubbedAccount, stack: DeployedStack
) -> None:
    kubernetes.add_job("stage")
    kubernetes.add("Job", "other", "batch/v1", metadata={"namespace": "b"}, spec={"template": {"spec": {}}})
    assert [job.name for job in state(kubernetes, account, stack).jobs] == ["other", "stage"]


def test_the_kubeconfig_of_another_cluster_is_rejected(
    kubernetes: Kubernetes, account: StubbedAccount, stack: DeployedStack
) -> None:
    kubernetes.known_to(account, endpoint="https://A.gr7.us-west-2.eks.amazonaws.com")
    with (
        pytest.raises(ClusterError, match=r"not of training; run 'aws eks update-kubeconfig --region us-west-2 --name"),
        connect_to(account, stack, None),
    ):
        pass
    assert kubernetes.fake.requests == []
