import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cdk8s
import pytest
import yaml
from click.testing import CliRunner

from tests.schemas import check_manifest
from training_workloads import InputError, Scheduling, TorchElasticJob, TorchElasticJobSpec
from training_workloads.catalog.nodes import CapacityType
from training_workloads.manifests.torchrun import torchrun


def spec(**changes: Any) -> TorchElasticJobSpec:
    defaults: dict[str, Any] = {
        "name": "job",
        "image": "image:1",
        "command": ("python", "-m", "train"),
        "instance_type": "p4d.24xlarge",
        "workers": 2,
    }
    return TorchElasticJobSpec(**{**defaults, **changes})


def objects(**changes: Any) -> dict[str, dict[str, Any]]:
    """Return the rendered objects by the name of their construct."""
    chart = cdk8s.Testing.chart()
    TorchElasticJob(chart, "Job", spec=spec(**changes))
    made = list(cdk8s.Testing.synth(chart))
    for document in made:
        check_manifest(document)
    job, service, store, store_service, policy = made
    return {"job": job, "service": service, "store": store, "store_service": store_service, "policy": policy}


def container(document: dict[str, Any]) -> dict[str, Any]:
    (only,) = document["spec"]["template"]["spec"]["containers"]
    return dict(only)


def variables(document: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container(document)["env"] if "value" in one}


def test_torchrun_gets_the_nodes_the_ranks_and_the_store() -> None:
    made = objects(min_workers=1, workers=2, max_workers=4, max_restarts=5, backoff_limit=4)
    assert container(made["job"])["command"] == [
        *("python", "-m", "training.pods.torch_agent", "--"),
        "torchrun",
        "--nnodes=1:4",
        "--nproc-per-node=8",
        "--max-restarts=5",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=job-store:29400",
        "--rdzv-conf=is_host=false,join_timeout=1800,read_timeout=1800",
        "--rdzv-id=$(TRAINING_JOB_UID)",
        "--no-python",
        "python",
        "-m",
        "train",
    ]
    run = torchrun(container(made["job"])["command"])
    assert run is not None
    assert (run.ranks, run.address) == (8, "job-store")
    assert made["job"]["spec"]["backoffLimitPerIndex"] == 4


def test_the_store_of_etcd_is_alone_off_spot_and_off_the_gpu_nodes() -> None:
    store = objects(rendezvous="etcd", scheduling=Scheduling(capacity_type="SPOT"))["store"]["spec"]
    assert (store["replicas"], store["strategy"]) == (1, {"type": "Recreate"})
    pod = store["template"]["spec"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {"key": "eks.amazonaws.com/capacityType", "operator": "NotIn", "values": ["SPOT"]} in terms[0][
        "matchExpressions"
    ]
    assert "tolerations" not in pod


@pytest.mark.parametrize("rendezvous", ["c10d", "etcd"])
def test_the_store_holds_no_node_when_the_job_has_ended(rendezvous: str) -> None:
    """It is a Deployment, which stays: a budget for training jobs, or an autoscaler, would wait for it for ever."""
    store = objects(rendezvous=rendezvous, scheduling=Scheduling(capacity_type="ON_DEMAND"))["store"]["spec"]
    assert store["template"]["metadata"] == {
        "labels": {"training.kubeflow.org/job-name": "job", "app.kubernetes.io/component": "store"},
        # An emptyDir, as etcd has, would hold the node too.
        "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
    }


def test_etcd_has_its_old_api_and_the_address_that_its_clients_have() -> None:
    made = objects(rendezvous="etcd", start_timeout_seconds=600)
    words = container(made["job"])["command"]
    assert words[8:11] == ["--rdzv-backend=etcd", "--rdzv-endpoint=job-store:2379", "--rdzv-conf=timeout=600"]
    store = container(made["store"])
    assert re.fullmatch(r"gcr\.io/etcd-development/etcd:v3\.5\.\d+", store["image"])
    assert "--enable-v2=true" in store["command"]
    assert "--advertise-client-urls=http://job-store:2379" in store["command"]
    assert made["store"]["spec"]["template"]["spec"]["volumes"] == [{"name": "etcd", "emptyDir": {"sizeLimit": "1Gi"}}]


def test_the_store_may_come_from_a_mirror() -> None:
    chart, copy = cdk8s.Testing.chart(), "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror/etcd:v3.5.29"
    store: Any = TorchElasticJob(chart, "Job", spec=spec(rendezvous="etcd")).node.find_child("Store")
    store.add_json_patch(cdk8s.JsonPatch.replace("/spec/template/spec/containers/0/image", copy))
    assert container(cdk8s.Testing.synth(chart)[2])["image"] == copy


FAKE_TORCH = """
class TCPStore:
    def __init__(self, *arguments, **options):
        print(arguments, options)
"""


def test_the_store_listens_for_any_number_of_workers_and_ends_on_request(tmp_path: Path) -> None:
    """Torch is not installed here: a class of the same name shows what it gets."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").touch()
    (tmp_path / "torch/distributed.py").write_text(FAKE_TORCH)
    program = container(objects()["store"])["command"]
    assert program[:2] == ["python", "-c"]
    store = subprocess.Popen(
        [sys.executable, "-u", *program[1:]], cwd=tmp_path, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert store.stdout is not None
    assert store.stdout.readline() == "('localhost', 29400) {'is_master': True, 'wait_for_workers': False}\n"
    assert store.stdout.readline() == "the store of the rendezvous listens on port 29400\n"
    store.send_signal(signal.SIGTERM)
    store.communicate()
    assert store.returncode == 0


def test_ranks_have_the_variables_of_several_workers_even_with_one() -> None:
    made = variables(objects(workers=1, environment={"SEED": "7", "OMP_NUM_THREADS": "2"})["job"])
    assert made == {
        "OMP_NUM_THREADS": "2",
        "TRAINING_DATA_THREADS": "11",
        # Of the programs' watchdog.
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "600",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        # Of the pod's 100.
        "PET_SHUTDOWN_TIMEOUT": "90",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
        "NCCL_SOCKET_IFNAME": "^lo,docker,veth",
        "FI_PROVIDER": "efa",
        "NCCL_NET": "AWS Libfabric",
        "SEED": "7",
    }


def test_devices_and_places_are_those_of_every_gpu_job() -> None:
    scheduling = Scheduling(queue="research", priority_class="high", node_group="gpu", placement_group=True)
    made = objects(scheduling=scheduling, gpus_per_worker=4, namespace="research", deadline_seconds=3600)
    assert {document["metadata"]["namespace"] for document in made.values()} == {"research"}
    job = made["job"]
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "research"}
    assert (job["spec"]["suspend"], job["spec"]["activeDeadlineSeconds"]) == (True, 3600)
    pod = job["spec"]["template"]["spec"]
    assert (pod["priorityClassName"], pod["terminationGracePeriodSeconds"]) == ("high", 100)
    assert pod["nodeSelector"]["training-cluster/node-group"] == "gpu"
    limits = pod["containers"][0]["resources"]["limits"]
    assert (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"], limits["hugepages-2Mi"]) == (4, 2, "2560Mi")
    assert pod["volumes"][0] == {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}
    (together,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    workers = together["labelSelector"]["matchLabels"]
    assert workers.items() <= job["spec"]["template"]["metadata"]["labels"].items()
    # A queue holds the Job alone.
    assert "labels" not in made["store"]["metadata"]


@pytest.mark.parametrize(
    ("interfaces", "limits", "network"),
    [
        (1, {"vpc.amazonaws.com/efa": 1, "hugepages-2Mi": "5120Mi"}, "AWS Libfabric"),
        (0, {}, "Socket"),
    ],
)
def test_a_measurement_may_use_some_of_the_efa_interfaces(
    interfaces: int, limits: dict[str, Any], network: str
) -> None:
    job = objects(efa_interfaces=interfaces)["job"]
    made = container(job)["resources"]["limits"]
    assert {name: amount for name, amount in made.items() if "efa" in name or "huge" in name} == limits
    assert made["nvidia.com/gpu"] == 8
    assert variables(job)["NCCL_NET"] == network


@pytest.mark.parametrize("capacity_type", ["ON_DEMAND", "SPOT", None])
def test_only_a_job_that_names_on_demand_capacity_holds_its_nodes(capacity_type: CapacityType | None) -> None:
    made = objects(scheduling=Scheduling(capacity_type=capacity_type))
    held = made["job"]["spec"]["template"]["metadata"]["labels"].get("training-cluster/hold")
    assert held == ("true" if capacity_type == "ON_DEMAND" else None)


@pytest.mark.parametrize("rendezvous", ["c10d", "etcd"])
def test_the_lint_finds_nothing(rendezvous: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training_workloads.cli import program

    # Without a cluster.yaml, with which it would compare the job.
    monkeypatch.chdir(tmp_path)

    made = objects(rendezvous=rendezvous, workers=3, max_workers=4)
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump_all(made.values()))
    result = CliRunner().invoke(program, ["lint", str(path)])
    assert (result.exit_code, result.output) == (0, "0 errors, 0 warnings in 1 file\n")


def test_an_image_of_ones_own_is_not_checked() -> None:
    assert spec(instance_type="p3dn.24xlarge", image="localhost/training-torch-cuda12:latest").instance.gpus == 8
    assert spec(instance_type="p3dn.24xlarge", image="repository/own:1").instance.gpus == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_workers": 3}, "'min_workers' is 3, but the job has 2 workers; lower the one or raise the other"),
        ({"max_workers": 1}, "'max_workers' is 1, but the job has 2 workers; raise the one or lower the other"),
        ({"min_workers": 0}, "'min_workers' is 0; give 1 or more"),
        ({"workers": 0}, "'workers' is 0; give 1 or more"),
        ({"max_workers": 100_001}, "'max_workers' is 100001; give 100000 or less"),
        ({"max_restarts": -1}, "'max_restarts' is -1; give 0 or more"),
        ({"backoff_limit": "3"}, "'backoff_limit' is '3'; give a whole number, 0 or more"),
        ({"rendezvous": "static"}, "'rendezvous' is 'static'; give one of c10d, etcd"),
        ({"instance_type": "g5.4xlarge", "gpus_per_worker": 2}, "'gpus_per_worker' is 2, but g5.4xlarge has 1 GPUs"),
        ({"gpus_per_worker": 3}, "on p4d.24xlarge an EFA interface serves 2 GPUs"),
        ({"name": "1job"}, "'name' is '1job'; give lower-case letters"),
        ({"name": "a" * 58}, "Kubernetes names pods '<name>-store', of at most 63 characters"),
        (
            {"scheduling": Scheduling(gang=True)},
            "'scheduling.gang' is True, but gangs are made by the MPI operator, which does not know this job; omit it, "
            "and give a queue: Kueue starts all workers together",
        ),
        (
            {"command": ("torchrun", "--nproc-per-node=8", "train.py")},
            "but the job itself starts it with torchrun, once per GPU; give the program that each rank runs, without "
            "torchrun and its options",
        ),
        ({"command": ("bash", "-c", "python -m torch.distributed.run train.py")}, "starts it with torchrun"),
        (
            {"instance_type": "p3dn.24xlarge", "image": "localhost/training-torch:latest"},
            "'instance_type' is 'p3dn.24xlarge', but its V100 has compute capability 7.0, and PyTorch 2.15 with CUDA "
            "13.2 supports 7.5 to 12.x; choose a type with another GPU, or give another image",
        ),
        (
            {"instance_type": "p6-b200.48xlarge", "image": "pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime"},
            "its B200 has compute capability 10.0, and the image's CUDA 12.6 supports 5.0 to 9.x",
        ),
        ({"efa_interfaces": 5}, "'efa_interfaces' is 5, but p4d.24xlarge has 4; lower it, or omit it to use all"),
        ({"efa_interfaces": -1}, "'efa_interfaces' is -1; give 0 or more"),
        (
            {"efa_interfaces": 1, "gpus_per_worker": 4},
            "'efa_interfaces' is 1, but a number is for whole nodes, and a worker has 4 of the 8 GPUs of p4d.24xlarge; "
            "omit it, or give each worker all 8 GPUs",
        ),
        (
            {"environment": {"WORLD_SIZE": "16"}},
            "'environment.WORLD_SIZE' is '16', but torchrun sets it for each rank; omit it",
        ),
        ({"environment": {"MASTER_ADDR": "a"}}, "'environment.MASTER_ADDR' is 'a', but torchrun sets it for each rank"),
        (
            {"environment": {"TRAINING_JOB_UID": "1"}},
            "'environment.TRAINING_JOB_UID' is '1', but the job itself sets it, as the name of the rendezvous; omit it",
        ),
    ],
)
def test_rejects_what_cannot_run(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(**change)
    assert message in str(caught.value)
