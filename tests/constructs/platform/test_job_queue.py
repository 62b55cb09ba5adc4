import json
from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import assertions

from tests.constructs.site import Site, properties
from tests.workloads.platform.kueue_schema import check_kueue_object
from training_cluster import GpuNodeGroup, ImportedCluster, JobQueue, TrainingCluster
from training_cluster.platform.job_queue import valid_flavor
from training_cluster.platform.kueue_values import configuration, configuration_hash
from training_workloads import InputError

MIRROR = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"


@pytest.fixture
def cluster(site: Site) -> ImportedCluster:
    return TrainingCluster.from_cluster_attributes(
        site.stack, "Jobs", cluster_name="jobs", cluster_security_group_id="sg-0123456789abcdef0", vpc=site.vpc
    )


def objects(template: assertions.Template) -> dict[tuple[str, str], dict[str, Any]]:
    """Return Kueue's objects by kind, and by namespace or name."""
    found = {}
    for resource in properties(template, "Custom::AWSCDK-EKS-KubernetesResource"):
        for document in json.loads(resource["Manifest"]):
            if document["apiVersion"].startswith("kueue"):
                metadata = {key: value for key, value in document["metadata"].items() if key != "labels"}
                check_kueue_object({**document, "metadata": metadata})
                found[document["kind"], metadata.get("namespace", metadata["name"])] = document
    return found


@pytest.mark.parametrize("queue_first", [True, False])
def test_all_node_groups_and_namespaces_in_any_order(queue_first: bool, cluster: ImportedCluster) -> None:
    if queue_first:
        cluster.add_job_queue("Queue")
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=2)
    cluster.add_gpu_node_group("spot", instance_type="g5.xlarge", max_size=4, capacity_type="SPOT")
    cluster.add_namespaces(["team"])
    if not queue_first:
        cluster.add_job_queue("Queue")
    found = objects(assertions.Template.from_stack(cluster.stack))
    assert set(found) == {
        ("ClusterQueue", "gpu"),
        ("LocalQueue", "default"),
        ("LocalQueue", "team"),
        ("ResourceFlavor", "gpu"),
        ("ResourceFlavor", "launchers"),
        ("ResourceFlavor", "spot"),
    }
    (group,) = found["ClusterQueue", "gpu"]["spec"]["resourceGroups"]
    gpus = {
        flavor["name"]: each["nominalQuota"]
        for flavor in group["flavors"]
        for each in flavor["resources"]
        if each["name"] == "nvidia.com/gpu"
    }
    assert gpus == {"gpu": 16, "spot": 4, "launchers": 0}


def test_the_labels_of_a_flavor_are_those_of_the_node_group(cluster: ImportedCluster) -> None:
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    cluster.add_job_queue("Queue")
    template = assertions.Template.from_stack(cluster.stack)
    flavor = objects(template)["ResourceFlavor", "gpu"]["spec"]
    (nodes,) = properties(template, "AWS::EKS::Nodegroup")
    (taint,) = flavor["nodeTaints"]
    assert nodes["Taints"] == [{"Effect": "NO_SCHEDULE", "Key": taint["key"], "Value": taint["value"]}]
    label = "training-cluster/node-group"
    assert flavor["nodeLabels"][label] == nodes["Labels"][label] == "gpu"
    assert flavor["nodeLabels"]["eks.amazonaws.com/capacityType"] == nodes["CapacityType"]


def test_the_release_keeps_a_job_whose_workers_do_not_all_run(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue")
    (chart,) = properties(assertions.Template.from_stack(cluster.stack), "Custom::AWSCDK-EKS-HelmChart")
    assert (chart["Repository"], chart["Version"]) == ("oci://registry.k8s.io/kueue/charts/kueue", "0.19.6")
    assert (chart["Namespace"], chart["Release"], chart["Wait"]) == ("kueue-system", "kueue", True)
    values = json.loads(chart["Values"])["controllerManager"]
    assert values["featureGates"] == [{"name": "DisableWaitForPodsReady", "enabled": True}]


def kueue_values(template: assertions.Template) -> dict[str, Any]:
    (chart,) = (chart for chart in properties(template, "Custom::AWSCDK-EKS-HelmChart") if chart["Release"] == "kueue")
    values: dict[str, Any] = json.loads(chart["Values"])
    return values


def test_one_of_two_pods_answers_the_webhooks(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue")
    values = kueue_values(assertions.Template.from_stack(cluster.stack))["controllerManager"]
    assert values["replicas"] == 2
    assert values["podDisruptionBudget"] == {"enabled": True, "minAvailable": 1}
    (spread,) = values["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")


@pytest.mark.parametrize("queue_first", [True, False])
def test_kueue_sees_the_jobs_of_the_queues_namespaces_only(queue_first: bool, cluster: ImportedCluster) -> None:
    if queue_first:
        cluster.add_job_queue("Queue")
    cluster.add_namespaces(["team"])
    if not queue_first:
        cluster.add_job_queue("Queue")
    values = kueue_values(assertions.Template.from_stack(cluster.stack))
    configuration = json.loads(values["managerConfig"]["controllerManagerConfigYaml"])
    assert configuration["managedJobsNamespaceSelector"] == {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["default", "team"]}]
    }
    frameworks = configuration["integrations"]["frameworks"]
    assert {"batch/job", "kubeflow.org/mpijob"} < set(frameworks)
    # With these the API server would reject pods and Deployments while Kueue does not answer.
    assert not {"pod", "deployment", "statefulset"} & set(frameworks)
    assert configuration["resources"] == {"excludeResourcePrefixes": ["ephemeral-storage"]}


def test_another_namespace_starts_kueue_again(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue")
    cluster.add_namespaces(["team"])
    values = kueue_values(assertions.Template.from_stack(cluster.stack))
    annotations = values["controllerManager"]["manager"]["podAnnotations"]
    # Kueue reads its configuration only when it starts.
    hashes = [configuration_hash(configuration(names)) for names in (["default", "team"], ["default"])]
    assert annotations == {"training-cluster/configuration": hashes[0]}
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize("queue_first", [True, False])
def test_volumes_and_the_operator_come_after_kueue(queue_first: bool, cluster: ImportedCluster) -> None:
    if queue_first:
        cluster.add_job_queue("Queue")
    cluster.add_lustre("Lustre")
    cluster.add_platform("Platform")
    if not queue_first:
        cluster.add_job_queue("Queue")
    template = assertions.Template.from_stack(cluster.stack)
    charts = template.find_resources("Custom::AWSCDK-EKS-HelmChart")
    (kueue,) = (id for id, chart in charts.items() if chart["Properties"]["Release"] == "kueue")
    waiting = {
        document["kind"]
        for resource in template.find_resources("Custom::AWSCDK-EKS-KubernetesResource").values()
        for document in json.loads(text(resource))
        if kueue in resource.get("DependsOn", [])
    }
    # The Job that makes a new file system writable, and the operator.
    assert {"Job", "PersistentVolume", "Deployment", "CustomResourceDefinition"} <= waiting


def text(resource: Mapping[str, Any]) -> str:
    """Return the manifest of a resource, with what only the deployment knows as a word."""
    manifest = resource["Properties"]["Manifest"]
    if isinstance(manifest, str):
        return manifest
    parts = manifest["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else "token" for part in parts)


def test_kueue_tries_reservations_first_and_capacity_blocks_last(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue")
    reservation = {"capacity_reservation_id": "cr-0123456789abcdef0"}
    options: dict[str, dict[str, Any]] = {
        "block": {"capacity_type": "CAPACITY_BLOCK", **reservation},
        "spot": {"capacity_type": "SPOT"},
        "second": {},
        "first": {},
        "reserved": reservation,
    }
    for name, each in options.items():
        cluster.add_gpu_node_group(name, instance_type="p5.48xlarge", **each)
    queue = objects(assertions.Template.from_stack(cluster.stack))["ClusterQueue", "gpu"]
    (group,) = queue["spec"]["resourceGroups"]
    flavors = [flavor["name"] for flavor in group["flavors"]]
    assert flavors == ["reserved", "second", "first", "spot", "block", "launchers"]


def test_a_mirror_has_chart_and_image(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue", mirror=MIRROR)
    (chart,) = properties(assertions.Template.from_stack(cluster.stack), "Custom::AWSCDK-EKS-HelmChart")
    assert chart["Repository"] == f"oci://{MIRROR}/kueue"
    values = json.loads(chart["Values"])["controllerManager"]
    assert values["manager"]["image"] == {"tag": "v0.19.6", "repository": f"{MIRROR}/kueue"}
    assert values["manager"]["podAnnotations"]
    assert values["featureGates"]


def test_flavors_come_after_the_chart_and_go_after_the_queue(cluster: ImportedCluster) -> None:
    cluster.add_namespaces(["team"])
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", min_size=2, max_size=2)
    cluster.add_job_queue("Queue", topology=True)
    template = assertions.Template.from_stack(cluster.stack)
    after = {}
    for id, resource in template.find_resources("Custom::AWSCDK-EKS-KubernetesResource").items():
        (document, *_) = json.loads(resource["Properties"]["Manifest"])
        after[document["kind"], document["metadata"].get("namespace")] = (id, resource.get("DependsOn", []))
    (chart,) = template.find_resources("Custom::AWSCDK-EKS-HelmChart")
    assert chart in after["ResourceFlavor", None][1]
    assert after["Topology", None][0] in after["ResourceFlavor", None][1]
    assert after["ResourceFlavor", None][0] in after["ClusterQueue", None][1]
    assert after["ClusterQueue", None][0] in after["LocalQueue", "default"][1]
    assert after["Namespace", None][0] in after["LocalQueue", "team"][1]


def test_with_a_topology_every_flavor_has_one(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue", topology=True)
    cluster.add_gpu_node_group("gpu", instance_type="p5.48xlarge", min_size=2, max_size=2)
    cluster.add_gpu_node_group("old", instance_type="g5.48xlarge", min_size=1, max_size=1)
    found = objects(assertions.Template.from_stack(cluster.stack))
    names = {name: found["ResourceFlavor", name]["spec"]["topologyName"] for name in ("gpu", "old", "launchers")}
    placed = "placement-group-network-layers"
    assert names == {"gpu": f"{placed}-3", "old": f"{placed}-0", "launchers": "network-layers-0"}
    topologies = {name for kind, name in found if kind == "Topology"}
    assert topologies == {"network-layers-0", f"{placed}-0", f"{placed}-3"}


def test_the_widest_level_of_a_topology_is_the_placement_group_of_the_nodes(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue", topology=True)
    cluster.add_gpu_node_group("gpu", instance_type="p5.48xlarge", min_size=2, max_size=2)
    template = assertions.Template.from_stack(cluster.stack)
    found = objects(template)
    (nodes,) = properties(template, "AWS::EKS::Nodegroup")
    topology = found["Topology", found["ResourceFlavor", "gpu"]["spec"]["topologyName"]]
    widest, *_ = topology["spec"]["levels"]
    # Kueue reads it from the nodes.
    assert nodes["Labels"][widest["nodeLabel"]] == "gpu"
    assert widest["nodeLabel"] == "training-cluster/placement-group"


def test_the_queue_of_a_cluster_of_the_cdk(site: Site) -> None:
    group = GpuNodeGroup(site.stack, "Nodes", cluster=site.cluster, instance_type="g5.xlarge", max_size=3)
    JobQueue(
        site.stack,
        "Queue",
        cluster=site.cluster,
        node_groups=[group],
        namespaces=["team"],
        queue_name="research",
        max_jobs=2,
    )
    found = objects(site.template())
    assert ("LocalQueue", "team") in found
    (resources,) = found["ClusterQueue", "research"]["spec"]["resourceGroups"]
    assert resources["flavors"][-1]["resources"][0] == {"name": "cpu", "nominalQuota": "500m"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queue_name": "My Queue"}, "'queue_name' is 'My Queue'; give lower-case letters, digits and '-', at most 63"),
        ({"topology": "yes"}, "'topology' is 'yes'; give true or false"),
        ({"max_jobs": 0}, "'max_jobs' is 0"),
        ({"mirror": "docker.io"}, "'mirror' is 'docker.io'; give the address of an ECR registry"),
        ({"node_groups": ["gpu"]}, "'node_groups' is 'gpu'; give GpuNodeGroups, such as cluster.gpu_node_groups"),
    ],
)
def test_rejects_what_kubernetes_or_kueue_rejects(options: dict[str, Any], message: str, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        JobQueue(site.stack, "Queue", cluster=site.cluster, **options)
    assert message in str(caught.value)


def test_rejects_a_topology_over_nodes_that_the_autoscaler_starts(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue", topology=True)
    with pytest.raises(InputError) as caught:
        cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=4)
    assert str(caught.value) == (
        "'topology' is True, but Kueue counts the nodes that run, and the node group 'gpu' has 0 to 4: no job would be "
        "admitted for nodes that the autoscaler could start; give min_size and max_size of the group one value, or "
        "omit topology"
    )


def test_rejects_a_topology_over_the_nodes_of_a_capacity_block(cluster: ImportedCluster) -> None:
    cluster.add_job_queue("Queue", topology=True)
    with pytest.raises(InputError, match="the node group 'gpu' has no nodes before its Capacity Block starts"):
        cluster.add_gpu_node_group(
            "gpu",
            instance_type="p5.48xlarge",
            capacity_type="CAPACITY_BLOCK",
            capacity_reservation_id="cr-0123456789abcdef0",
        )


def test_rejects_two_groups_with_one_flavor_and_a_second_queue(cluster: ImportedCluster) -> None:
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    cluster.add_job_queue("Queue")
    with pytest.raises(InputError, match=r"^'node_groups' is 'GPU', but another group has the flavor 'gpu'"):
        cluster.add_gpu_node_group("GPU", instance_type="p4d.24xlarge")
    with pytest.raises(InputError, match=r"^'add_job_queue' is 'a second job_queue'"):
        cluster.add_job_queue("Other")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "launchers",
            "but the queue's flavor 'launchers' is that of the pods without GPUs; give the group another",
        ),
        ("Launchers", "but the queue's flavor 'launchers' is that of the pods without GPUs"),
        ("a..b", "but the queue's flavor has its name; give"),
    ],
)
def test_rejects_a_group_without_a_flavor(name: str, message: str) -> None:
    (problem,) = valid_flavor(("node_groups", name), name, [])
    assert str(problem).startswith(f"'node_groups.{name}' is {name!r}, {message}")


def test_a_queue_has_at_most_63_groups_beside_the_launchers() -> None:
    assert not list(valid_flavor((), "last", [f"group-{number}" for number in range(62)]))
    (problem,) = valid_flavor(("node_groups",), "more", [f"group-{number}" for number in range(63)])
    assert str(problem) == (
        "'node_groups' is 'more', but Kueue allows 64 flavors in a queue: 63 node groups, and the launchers'; "
        "leave the group out of the queue, or define a second cluster"
    )
