import json

import pytest

from tests.constructs.account.conftest import Command, Kubernetes
from tests.constructs.account.lustre_answers import FILE_SYSTEM, answer_lustre
from tests.constructs.account.stubbed_account import StubbedAccount

RESOURCES = {
    "Cluster": ("AWS::EKS::Cluster", "training"),
    "Lustre": ("AWS::FSx::FileSystem", FILE_SYSTEM),
    "Gateway": ("AWS::EC2::NatGateway", "nat-1"),
}


def answer_stacks(account: StubbedAccount) -> None:
    account.answer_identity()
    account.answer_stack(RESOURCES)
    account.answer_no_stack("TrainingDataStack")


def answer_release(account: StubbedAccount, release: str = "1.37") -> None:
    account.answer("eks", "describe_cluster", {"cluster": {"version": release}}, {"name": "training"})


def answer_nodes(account: StubbedAccount, *nodes: tuple[str, str]) -> None:
    """Say which nodes run, each with a volume."""
    account.answer_instances(*nodes)
    volumes = [{"Size": 100, "Iops": 3000, "Throughput": 600}] * len(nodes)
    filters = [
        {"Name": "tag:training-cluster/cluster", "Values": ["training"]},
        {"Name": "volume-type", "Values": ["gp3"]},
    ]
    account.answer("ec2", "describe_volumes", {"Volumes": volumes}, {"Filters": filters})


@pytest.mark.parametrize(
    ("release", "price"),
    [("1.31", "1 x EKS control plane in extended support at 0.60"), ("1.99", "1 x EKS control plane at 0.10")],
)
def test_extended_support_is_in_the_price(
    release: str, price: str, kubernetes: Kubernetes, account: StubbedAccount, command: Command
) -> None:
    account.answer_identity()
    account.answer_stack({"Cluster": RESOURCES["Cluster"]})
    account.answer_no_stack("TrainingDataStack")
    answer_nodes(account)
    answer_release(account, release)
    kubernetes.known_to(account)
    assert price in command("status").out


def test_interface_endpoints_are_in_the_price(
    kubernetes: Kubernetes, account: StubbedAccount, command: Command
) -> None:
    account.answer_identity()
    endpoints = {name: ("AWS::EC2::VPCEndpoint", f"vpce-{name}") for name in ("Ecr", "S3")}
    account.answer_stack({"Cluster": RESOURCES["Cluster"], **endpoints})
    account.answer_no_stack("TrainingDataStack")
    answer_nodes(account)
    answer_release(account)
    found = [
        {"VpcEndpointType": "Interface", "SubnetIds": ["subnet-a", "subnet-b"]},
        {"VpcEndpointType": "Gateway", "SubnetIds": []},
    ]
    expected = {"VpcEndpointIds": ["vpce-Ecr", "vpce-S3"]}
    account.answer("ec2", "describe_vpc_endpoints", {"VpcEndpoints": found}, expected)
    kubernetes.known_to(account)
    assert "2 x interface endpoint in a zone at 0.01" in command("status").out


def test_a_file_system_that_existed_before_is_shown(
    kubernetes: Kubernetes, account: StubbedAccount, command: Command
) -> None:
    account.answer_identity()
    account.answer_stack({"Cluster": RESOURCES["Cluster"]}, outputs={"FileSystemId": FILE_SYSTEM})
    account.answer_no_stack("TrainingDataStack")
    answer_nodes(account)
    answer_release(account)
    kubernetes.known_to(account)
    answer_lustre(account)
    assert f"{FILE_SYSTEM}  AVAILABLE" in command("status").out


def test_shows_what_runs(kubernetes: Kubernetes, account: StubbedAccount, command: Command) -> None:
    answer_stacks(account)
    answer_nodes(account, ("system", "m5.xlarge"), ("system", "m5.xlarge"), ("gpu", "p3dn.24xlarge"))
    answer_release(account)
    kubernetes.known_to(account)
    conditions = [{"type": "Ready", "status": "True"}]
    labels = {"node.kubernetes.io/instance-type": "p3dn.24xlarge"}
    status = {"conditions": conditions, "allocatable": {"nvidia.com/gpu": "8"}}
    kubernetes.add("Node", "a", metadata={"labels": labels}, status=status)
    kubernetes.add_job("stage")
    answer_lustre(account, lag=90)
    code, out, err = command("status")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "TrainingClusterStack CREATE_COMPLETE" in lines
    assert "TrainingDataStack not deployed" in lines
    assert "m5.xlarge 2 ? ? ?" in lines
    assert "p3dn.24xlarge 1 1/1 8/8 0/0" in lines
    assert "mpi-operator not installed" in lines
    assert f"{FILE_SYSTEM} AVAILABLE 1200 50.0 % 90 s 0" in lines
    assert any(line.startswith("team stage Pending") for line in lines)
    (price,) = (line for line in lines if line.startswith("per hour: "))
    assert "2 x m5.xlarge" in price
    assert "1 x NAT gateway" in price
    assert "3 x volume of 100 GiB with 3000 IOPS and 600 MiB/s" in price
    assert "1 x Lustre PERSISTENT_2 of 1200 GiB at 125 MB/s per TiB at 0.2384" in price
    account.all_asked()


def test_json_has_the_same(kubernetes: Kubernetes, account: StubbedAccount, command: Command) -> None:
    answer_stacks(account)
    answer_nodes(account, ("system", "m5.xlarge"), ("", "x9.huge"))
    answer_release(account)
    kubernetes.known_to(account)
    answer_lustre(account)
    report = json.loads(command("status", "--json").out)
    assert report["stacks"] == {"TrainingClusterStack": "CREATE_COMPLETE", "TrainingDataStack": "not deployed"}
    assert (report["instances"], report["kubernetes"]["jobs"]) == ({"m5.xlarge": 1, "x9.huge": 1}, [])
    assert report["file_systems"][0]["used_percent"] == 50.0
    assert report["usd_per_hour"] > 0.19
    assert (report["unpriced"], report["notes"]) == (["x9.huge"], [])
    assert report["price"].startswith("0.65 USD + x9.huge without a price: 1 x m5.xlarge at 0.192, ")


def test_what_efs_holds_is_in_the_price(kubernetes: Kubernetes, account: StubbedAccount, command: Command) -> None:
    account.answer_identity()
    account.answer_stack({"Cluster": RESOURCES["Cluster"], "Efs": ("AWS::EFS::FileSystem", "fs-2")})
    account.answer_no_stack("TrainingDataStack")
    answer_nodes(account)
    answer_release(account)
    kubernetes.known_to(account)
    size = {"Value": 73 * 1024**3}
    rest = {"OwnerId": "1", "CreationToken": "a", "FileSystemId": "fs-2", "CreationTime": 0, "Tags": []}
    rest |= {"LifeCycleState": "available", "NumberOfMountTargets": 2, "PerformanceMode": "generalPurpose"}
    found = {"FileSystems": [{**rest, "SizeInBytes": size}]}
    account.answer("efs", "describe_file_systems", found, {"FileSystemId": "fs-2"})
    assert "1 x EFS of 73.0 GiB at 0.03" in command("status").out


def test_what_cannot_be_read_is_noted(kubernetes: Kubernetes, account: StubbedAccount, command: Command) -> None:
    answer_stacks(account)
    account.forbid("ec2", "describe_instances")
    account.forbid("ec2", "describe_volumes")
    account.forbid("eks", "describe_cluster")
    kubernetes.known_to(account, endpoint="https://another")
    account.forbid("fsx", "describe_file_systems")
    code, out, _ = command("status")
    assert code == 0
    assert "note: the instances: your role may not ec2:DescribeInstances; allow the action" in out
    assert "note: the volumes: your role may not ec2:DescribeVolumes" in out
    assert "note: the Kubernetes release: your role may not eks:DescribeCluster" in out
    assert "note: Kubernetes: the kubeconfig's context is of http://127.0.0.1" in out
    assert f"note: file system {FILE_SYSTEM}: your role may not fsx:DescribeFileSystems" in out


def test_before_a_deployment_there_is_nothing_to_show(account: StubbedAccount, command: Command) -> None:
    account.answer_identity()
    account.answer_no_stack()
    account.answer_no_stack("TrainingDataStack")
    code, out, _ = command("status")
    assert (code, out.count("not deployed"), "per hour" in out) == (0, 2, False)
