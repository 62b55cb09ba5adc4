"""The exporter of further metrics of GPUs, and what the agent makes of its output.

`recorded/dcgm_exporter.txt` has the labels and the form of outputs in https://github.com/NVIDIA/dcgm-exporter
(METRICS.md and issue 581, read 2026-11-23), with drawn values: two GPUs of a node, of which the second has no line of
NVLink. So the exporter shows a value that DCGM calls blank: not found, not supported or not permitted.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import aws_eks_v2 as eks

from tests.constructs.site import Site, properties
from training_cluster import ClusterMonitoring
from training_cluster.monitoring.cluster_metrics import ClusterMetrics
from training_cluster.monitoring.gpu_details import agent_section, scrape_config
from training_workloads import InputError
from training_workloads.catalog.gpu_metrics import GPU_DETAILS

RECORDED = (Path(__file__).parent / "recorded/dcgm_exporter.txt").read_text()
SAMPLE = re.compile(r"(?P<name>\w+)\{(?P<labels>.*)\} (?P<value>\S+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')
NODE = (("NodeName", "ip-10-0-1-23.ec2.internal"),)


def scraped(output: str) -> list[dict[str, str]]:
    """Return the labels that Prometheus' relabelling keeps of an output, by its documented rules, with the value."""
    (job,) = scrape_config()["scrape_configs"]
    kept = []
    for sample in filter(None, map(SAMPLE.fullmatch, output.splitlines())):
        labels = {"__name__": sample["name"], "job": job["job_name"], **dict(LABEL.findall(sample["labels"]))}
        keeps = True
        for rule in job["metric_relabel_configs"]:
            source = ";".join(labels.get(name, "") for name in rule["source_labels"])
            if rule.get("action") == "keep":
                keeps = keeps and re.fullmatch(rule["regex"], source) is not None
            else:
                labels[rule["target_label"]] = source
        if keeps:
            kept.append({**labels, "value": sample["value"]})
    return kept


def metrics(output: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], list[int]]:
    """Return the samples that become metrics, by name and dimensions, before the agent subtracts the last ones."""
    (declared,) = agent_section(ClusterMetrics("training"))["emf_processor"]["metric_declaration"]
    found: dict[Any, list[int]] = {}
    for labels in scraped(output):
        source = ";".join(labels.get(name, "") for name in declared["source_labels"])
        selected = any(re.search(selector, labels["__name__"]) for selector in declared["metric_selectors"])
        if selected and re.search(declared["label_matcher"], source):
            for names in declared["dimensions"]:
                dimensions = tuple((name, labels[name]) for name in names)
                found.setdefault((labels["__name__"], dimensions), []).append(int(labels["value"]))
    return found


def test_each_gpu_is_a_sample_of_its_node() -> None:
    assert metrics(RECORDED) == {
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", NODE): [319159391, 287730018],
        ("DCGM_FI_DEV_POWER_VIOLATION", NODE): [48120000000, 0],
        ("DCGM_FI_DEV_THERMAL_VIOLATION", NODE): [0, 7250000000],
        # The second GPU reports none: it is not a sample of 0.
        ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", NODE): [87900],
        ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", NODE): [0],
    }


def test_the_log_has_the_gpu_and_the_pod_that_holds_it() -> None:
    first = scraped(RECORDED)[0]
    assert (first["gpu"], first["namespace"], first["pod"]) == ("0", "default", "resnet50-worker-0")


@pytest.mark.parametrize("output", ["", "404 page not found\n", "# HELP up Nothing.\n# TYPE up gauge\n"])
def test_a_node_without_gpus_or_a_driver_sends_nothing(output: str) -> None:
    assert metrics(output) == {}


def test_the_list_has_three_columns_and_no_field_twice() -> None:
    lines = [counter.csv for counter in GPU_DETAILS]
    assert "DCGM_FI_DEV_POWER_VIOLATION, counter, time below the clocks for the power limit in ns" in lines
    assert all(line.count(",") == 2 for line in lines)
    assert len({counter.field for counter in GPU_DETAILS}) == len(lines) == 11


def test_no_field_is_of_profiling_which_one_program_can_hold() -> None:
    assert not [counter.field for counter in GPU_DETAILS if "_PROF_" in counter.field]


def test_the_agent_takes_nothing_of_the_scrape_for_a_variable() -> None:
    assert "$" not in json.dumps(scrape_config())


def values(site: Site) -> tuple[dict[str, Any], dict[str, Any]]:
    (made,) = properties(site.template(), "Custom::AWSCDK-EKS-HelmChart")
    return made, json.loads(made["Values"])


def test_the_exporter_runs_on_gpu_nodes_with_the_counters_of_the_catalog(site: Site) -> None:
    ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, gpu_details=True)
    made, given = values(site)
    assert (made["Chart"], made["Version"]) == ("dcgm-exporter", "4.8.3")
    assert made["Repository"] == "https://nvidia.github.io/dcgm-exporter/helm-charts"
    assert (made["Release"], made["Namespace"]) == ("dcgm-exporter", "kube-system")
    assert given["customMetrics"].splitlines() == [counter.csv for counter in GPU_DETAILS]
    assert given["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    assert given["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert given["service"] == {"port": 9400, "internalTrafficPolicy": "Local"}
    assert given["serviceMonitor"] == {"enabled": False}


def test_chart_and_image_come_from_a_mirror(site: Site) -> None:
    mirror = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"
    ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, gpu_details=True, mirror=mirror)
    made, given = values(site)
    assert made["Repository"] == f"oci://{mirror}/dcgm-exporter"
    digest = "613ab03c11d442fd960ff515f547e9921537454a712d08160bc8f677f89f1c35"
    tag = f"4.6.0-4.8.3-distroless@sha256:{digest}"
    assert given["image"] == {"tag": tag, "repository": f"{mirror}/dcgm-exporter"}


def test_the_agent_reads_the_exporter_of_its_node(site: Site) -> None:
    ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, gpu_details=True)
    template = site.template()
    (addon,) = properties(template, "AWS::EKS::Addon")
    parts = addon["ConfigurationValues"]["Fn::Join"][1]
    agent = json.loads("".join(part if isinstance(part, str) else "training" for part in parts))["agent"]
    collected = agent["config"]["logs"]["metrics_collected"]
    assert collected["kubernetes"] == {"enhanced_container_insights": True, "accelerated_compute_metrics": True}
    assert collected["prometheus"]["log_group_name"] == "/aws/containerinsights/training/prometheus"
    assert collected["prometheus"]["emf_processor"]["metric_namespace"] == "TrainingCluster/training"
    (job,) = agent["prometheus"]["config"]["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["dcgm-exporter.kube-system.svc:9400"]}]
    groups = [each["LogGroupName"]["Fn::Join"][1][-1] for each in properties(template, "AWS::Logs::LogGroup")]
    assert "/prometheus" in groups


def test_the_dashboard_shows_why_gpus_were_slow(site: Site) -> None:
    ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, gpu_details=True)
    (made,) = properties(site.template(), "AWS::CloudWatch::Dashboard")
    parts = made["DashboardBody"]["Fn::Join"][1]
    body = json.loads("".join(part if isinstance(part, str) else "training" for part in parts))
    widgets = {each["properties"]["title"]: each["properties"].get("metrics") for each in body["widgets"]}
    lines = [line[-1] for line in widgets["Time of a node's GPUs below their clocks (ns/min)"]]
    search = """SEARCH('{"TrainingCluster/training",NodeName} MetricName="DCGM_FI_DEV_POWER_VIOLATION"', 'Sum', 60)"""
    assert lines[0]["expression"] == search
    assert lines[0]["label"] == "POWER_VIOLATION ${PROP('Dim.NodeName')}"
    assert len(lines) == 5
    assert len(widgets["NVLink errors per node"]) == 4


def test_without_the_option_nothing_is_there(site: Site) -> None:
    made = ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster)
    assert made.gpu_details is None
    template = site.template()
    template.resource_count_is("Custom::AWSCDK-EKS-HelmChart", 0)
    (addon,) = properties(template, "AWS::EKS::Addon")
    assert "prometheus" not in addon["ConfigurationValues"]


def test_rejects_a_cluster_without_kubectl_and_another_registry(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(site.stack, "Monitoring", cluster=bare, gpu_details=True)
    assert [problem.path for problem in caught.value.problems] == [("cluster",)]
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(site.stack, "Second", cluster=site.cluster, gpu_details=True, mirror="docker.io/mine")
    assert [problem.path for problem in caught.value.problems] == [("mirror",)]
