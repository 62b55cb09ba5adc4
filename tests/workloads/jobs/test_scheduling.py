from collections.abc import Callable
from typing import Any

import pytest

from training_workloads import HorovodJobSpec, InputError, Scheduling

Synthesize = Callable[[HorovodJobSpec], dict[str, Any]]

WORKERS = {"training.kubeflow.org/job-name": "job", "training.kubeflow.org/job-role": "worker"}


def made(synthesize: Synthesize, job_spec: HorovodJobSpec, **scheduling: Any) -> dict[str, Any]:
    return synthesize(job_spec.replaced(scheduling=Scheduling(**scheduling)))


def pods(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [manifest["spec"]["mpiReplicaSpecs"][role]["template"]["spec"] for role in ("Launcher", "Worker")]


def test_a_gang_is_the_workers_and_a_launcher_that_is_created_at_once(
    job_spec: HorovodJobSpec, synthesize: Synthesize
) -> None:
    manifest = made(synthesize, job_spec, gang=True, priority_class="high")
    # The gang would wait for ever for a launcher that is created after the workers.
    assert manifest["spec"]["launcherCreationPolicy"] == "AtStartup"
    assert manifest["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 3, "priorityClass": "high"}


def test_workers_are_spread(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    _, worker = pods(made(synthesize, job_spec, spread_over="kubernetes.io/hostname"))
    assert worker["topologySpreadConstraints"] == [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "minDomains": 2,
            "labelSelector": {"matchLabels": WORKERS},
        }
    ]


def test_workers_alone_stay_on_spot_and_in_one_node_group(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    launcher, worker = pods(made(synthesize, job_spec, capacity_type="SPOT", node_group="block-a"))
    assert worker["nodeSelector"] == {
        "node.kubernetes.io/instance-type": "p3dn.24xlarge",
        "eks.amazonaws.com/capacityType": "SPOT",
        "training-cluster/node-group": "block-a",
    }
    assert "nodeSelector" not in launcher


@pytest.mark.parametrize(
    ("capacity_type", "labels"),
    [
        ("ON_DEMAND", {"training-cluster/hold": "true"}),
        # Such a job may be on nodes that go without asking: only an eviction is its signal to save a checkpoint.
        (None, None),
        ("SPOT", None),
        ("CAPACITY_BLOCK", None),
    ],
)
@pytest.mark.parametrize("queue", [None, "gpu"])
def test_only_a_job_that_names_on_demand_capacity_holds_its_nodes(
    capacity_type: str | None,
    labels: dict[str, str] | None,
    queue: str | None,
    job_spec: HorovodJobSpec,
    synthesize: Synthesize,
) -> None:
    replicas = made(synthesize, job_spec, capacity_type=capacity_type, queue=queue)["spec"]["mpiReplicaSpecs"]
    for role in ("Launcher", "Worker"):
        assert replicas[role]["template"]["metadata"].get("labels") == labels


def test_workers_are_close_to_each_other_and_in_one_placement_group(
    job_spec: HorovodJobSpec, synthesize: Synthesize
) -> None:
    zone = "topology.kubernetes.io/zone"
    launcher, worker = pods(made(synthesize, job_spec, placement_group=True, colocate_in=zone))
    terms = worker["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms == [
        {"topologyKey": zone, "labelSelector": {"matchLabels": WORKERS}},
        {"topologyKey": "training-cluster/placement-group", "labelSelector": {"matchLabels": WORKERS}},
    ]
    assert "podAffinity" not in launcher["affinity"]


@pytest.mark.parametrize("label", ["topology.k8s.aws/network-node-layer-2", "training-cluster/placement-group"])
@pytest.mark.parametrize("kind", ["required", "preferred"])
def test_kueue_reads_the_topology_from_the_workers_only(
    kind: str, label: str, job_spec: HorovodJobSpec, synthesize: Synthesize
) -> None:
    level: dict[str, Any] = {f"{kind}_topology": label}
    manifest = synthesize(job_spec.replaced(scheduling=Scheduling(queue="gpu", **level)))
    launcher, worker = (manifest["spec"]["mpiReplicaSpecs"][role]["template"] for role in ("Launcher", "Worker"))
    annotation = f"kueue.x-k8s.io/podset-{kind}-topology"
    assert worker["metadata"]["annotations"][annotation] == label
    assert annotation not in launcher["metadata"]["annotations"]


def test_two_jobs_side_by_side_select_only_their_pods(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    halves = job_spec.replaced(
        gpus_per_worker=4, efa_interfaces=0, scheduling=Scheduling(spread_over="kubernetes.io/hostname")
    )
    selectors = []
    for name in ("first", "second"):
        manifest = synthesize(halves.replaced(name=name))
        _, worker = pods(manifest)
        selectors.append(worker["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"])
        assert "hostNetwork" not in worker
        assert worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 4
    assert [selector["training.kubeflow.org/job-name"] for selector in selectors] == ["first", "second"]


@pytest.mark.parametrize(
    ("scheduling", "message"),
    [
        ({"gang": "yes"}, "'gang' is 'yes'; give true or false"),
        ({"queue": "Research"}, "'queue' is 'Research'; give lower-case letters, digits and '-', at most 63"),
        ({"priority_class": "a b"}, "'priority_class' is 'a b'; give a name of lower-case letters, digits"),
        ({"spread_over": "host name"}, "'spread_over' is 'host name'; give the key of a node label, such as topology"),
        ({"colocate_in": ""}, "'colocate_in' is ''; give the key of a node label"),
        (
            {"spread_over": "zone", "colocate_in": "zone"},
            "'spread_over' is 'zone', but the label to colocate in is the same, and workers cannot be apart",
        ),
        ({"node_group": "my nodes"}, "'node_group' is 'my nodes'; give the name of a node group, as in cluster.yaml"),
        ({"node_group": ""}, "'node_group' is ''; give the name of a node group"),
        ({"placement_group": "gpu"}, "'placement_group' is 'gpu'; give true or false"),
        (
            {"node_group": "gpu", "spread_over": "training-cluster/node-group"},
            "'spread_over' is 'training-cluster/node-group', but all workers are in one node group",
        ),
        (
            {"placement_group": True, "spread_over": "training-cluster/placement-group"},
            "'spread_over' is 'training-cluster/placement-group', but all workers are in one placement group",
        ),
        (
            {"placement_group": True, "capacity_type": "CAPACITY_BLOCK"},
            "'placement_group' is True, but the nodes of a Capacity Block have none",
        ),
        (
            {"queue": "gpu", "required_topology": "a", "preferred_topology": "b"},
            "'preferred_topology' is 'b', but a required topology is given too; give one of the two",
        ),
        (
            {"preferred_topology": "a"},
            "'preferred_topology' is 'a', but Kueue places the workers, and the job has no queue; give",
        ),
        ({"queue": "gpu", "required_topology": "a b"}, "'required_topology' is 'a b'; give the key of a node label"),
        ({"capacity_type": "spot"}, "'capacity_type' is 'spot'; give one of ON_DEMAND, SPOT, CAPACITY_BLOCK"),
    ],
)
def test_rejects_what_kubernetes_rejects_or_never_schedules(scheduling: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Scheduling(**scheduling)
    assert message in str(caught.value)
