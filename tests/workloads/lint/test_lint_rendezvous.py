"""Where the ranks of other jobs than MPIJobs meet: the address, the pods' names, and the Service beside the job."""

from typing import Any

import pytest

from tests.workloads.lint import test_lint_other_kinds as other_kinds
from tests.workloads.lint.sample_job import changed
from tests.workloads.lint.test_lint_other_kinds import COMMAND, JOB, JOB_SET, MASTER, PYTORCH_JOB, SET, TRAIN_JOB
from training_workloads.lint import lint_documents, lint_manifest
from training_workloads.lint.rules import OTHER_JOB_RULES, SERVICE_RULES

IN_SET = f"{SET} template spec containers 0 command"
AT = "error: spec.template.spec.containers[0].command: "
AT_SET = "error: spec.replicatedJobs[0].template.spec.template.spec.containers[0].command: "
INDEX = "--node-rank=$(JOB_COMPLETION_INDEX)"


def torchrun(*options: str, nodes: int = 2) -> list[str]:
    return ["torchrun", f"--nnodes={nodes}", "--nproc-per-node=8", *options, "train.py"]


def meeting(address: str) -> list[str]:
    return torchrun(INDEX, f"--master-addr={address}")


# Document, changes, then the finding.
FIRES: list[tuple[str, dict[str, Any], str]] = [
    (
        JOB,
        {COMMAND: meeting("localhost")},
        f"{AT}has localhost as the address of rank 0, at which each pod finds only itself; give the name of the pod "
        "with rank 0, or remove it where the operator sets it [rendezvous-address]",
    ),
    (
        JOB,
        {COMMAND: torchrun("--standalone")},
        f"{AT}has --standalone, with which each pod is a job by itself; write --master-addr or --rdzv-endpoint instead "
        "[rendezvous-address]",
    ),
    (
        JOB,
        {COMMAND: torchrun(INDEX)},
        f"{AT}is for 2 nodes, but names no address at which they meet; add --master-addr with the name of the pod of "
        "index 0 [rendezvous-left-out]",
    ),
    (
        JOB,
        {COMMAND: torchrun("--node-rank=0", "--master-addr=rank-0")},
        f"{AT}has node rank 0 in each of 2 pods; write --node-rank=$(JOB_COMPLETION_INDEX) [same-node-rank]",
    ),
    (
        PYTORCH_JOB,
        {
            "spec pytorchReplicaSpecs Worker replicas": 2,
            f"{MASTER} command": ["accelerate", "launch"],
            "spec pytorchReplicaSpecs Worker template spec containers 0 command": [
                *("accelerate", "launch", "--machine_rank", "1", "train.py"),
            ],
        },
        "error: spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].command: has machine rank 1 in each of 2 "
        "pods; give each pod its own, such as its index [same-machine-rank]",
    ),
    (
        JOB,
        {COMMAND: ["torchrun", INDEX, "--master-addr=rank-0", "--nproc-per-node=8", "train.py"]},
        f"{AT}has no --nnodes, whose default is 1, but the job has 2 pods; write --nnodes=2 [nodes-differ-from-pods]",
    ),
    (
        TRAIN_JOB,
        {"spec trainer command": ["torchrun", "--nnodes=4", "train.py"]},
        "error: spec.trainer.command: is for 4 nodes, but the job has 2 pods; write --nnodes=2, or run 4 pods "
        "[nodes-differ-from-pods]",
    ),
    (
        JOB,
        {COMMAND: torchrun("--node_rnk=1", "--master-addr=rank-0")},
        f"{AT}has --node-rnk, which torchrun does not know, and ends; write --node-rank [torchrun-option]",
    ),
    (
        JOB,
        {COMMAND: ["torchrun", "--master-addr=rank-0", "--nnodes=2", "--nproc-per-node=gpus", "train.py"]},
        f"{AT}has --nproc-per-node=gpus, and torchrun ends; did you mean gpu? known: auto, cpu, gpu, xpu "
        "[torchrun-option]",
    ),
    (
        JOB,
        {COMMAND: meeting("ddp-0.ddp")},
        "error: spec.template.spec.subdomain: is missing, and ddp-0.ddp does not resolve; write subdomain: ddp, with a "
        "headless Service of that name [pod-name-not-resolved]",
    ),
    (
        JOB,
        {COMMAND: meeting("ddp-0.other"), "spec template spec subdomain": "ddp"},
        f"{AT}has ddp-0.other as the address of rank 0, which is in other: the pods are in ddp; write ddp-0.ddp "
        "[pod-name-not-resolved]",
    ),
    (
        JOB_SET,
        {IN_SET: meeting("ddp-node-0-0")},
        f"{AT_SET}has ddp-node-0-0 as the address of rank 0, which has no domain: the pods are in ddp; write "
        "ddp-node-0-0.ddp [pod-name-not-resolved]",
    ),
    (
        JOB,
        {COMMAND: meeting("train-0.ddp"), "spec template spec subdomain": "ddp"},
        f"{AT}has train-0.ddp as the address of rank 0, but the pods are ddp-0 and so on; write ddp-0.ddp "
        "[rendezvous-host]",
    ),
    (
        JOB_SET,
        {IN_SET: meeting("ddp-worker-0-0.ddp")},
        f"{AT_SET}has ddp-worker-0-0.ddp as the address of rank 0, but the pods are ddp-node-0-0 and so on; write "
        "ddp-node-0-0.ddp [rendezvous-host]",
    ),
    (
        PYTORCH_JOB,
        {f"{MASTER} env 1": {"name": "MASTER_ADDR", "value": "other-master-0"}},
        "error: spec.pytorchReplicaSpecs.Master.template.spec.containers[0].env[1]: has other-master-0 as the address "
        "of rank 0, but the pods are fsdp-master-0 and so on; write fsdp-master-0 [rendezvous-host]",
    ),
    (
        JOB_SET,
        {IN_SET: meeting("ddp-node-0-0.ddp"), "spec network": {"enableDNSHostnames": False}},
        "error: spec.network.enableDNSHostnames: is false, but the ranks meet at the name of a pod; write true, or "
        "remove it [names-turned-off]",
    ),
    (
        JOB_SET,
        {"spec replicatedJobs 0 replicas": 2, f"{SET} completions": 1, f"{SET} parallelism": 1},
        f"{AT_SET}numbers its nodes by JOB_COMPLETION_INDEX, but each of 2 copies of the job begins with 0; write "
        "replicas: 1, and parallelism and completions: 2 [index-of-a-copy]",
    ),
]

SILENT: list[tuple[str, dict[str, Any]]] = [
    (JOB, {COMMAND: meeting("ddp-0.ddp"), "spec template spec subdomain": "ddp"}),
    (JOB, {COMMAND: meeting("ddp-0.ddp.team.svc.cluster.local"), "spec template spec subdomain": "ddp"}),
    (JOB, {COMMAND: meeting("ip-10-0-0-1.ec2.internal")}),
    (JOB, {COMMAND: torchrun("--rdzv_backend=c10d", "--rdzv-endpoint=rank-0:29500")}),
    (JOB, {COMMAND: torchrun(INDEX, "--master_addr", "$RANK_0")}),
    (JOB_SET, {IN_SET: meeting("ddp-node-0-0.ddp")}),
    (JOB_SET, {IN_SET: meeting("ddp-node-0-0.rank"), "spec network": {"subdomain": "rank"}}),
    (JOB_SET, {"metadata": {"generateName": "a-"}, IN_SET: meeting("ddp-node-0-0.ddp")}),
    (PYTORCH_JOB, {f"{MASTER} env 1": {"name": "MASTER_ADDR", "value": "fsdp-master-0"}}),
    (TRAIN_JOB, {"spec trainer command": ["torchrun", "--nnodes=2", "train.py"]}),
    # The operators give the number of nodes.
    (TRAIN_JOB, {"spec trainer command": ["torchrun", "--rdzv-endpoint=rank-0:29500", "train.py"]}),
]


@pytest.mark.parametrize(("document", "changes", "finding"), FIRES)
def test_ranks_that_do_not_meet_are_one_finding(document: str, changes: dict[str, Any], finding: str) -> None:
    assert [str(found) for found in lint_manifest(changed(changes, document))] == [finding]


@pytest.mark.parametrize(("document", "changes"), SILENT)
def test_ranks_that_meet_are_no_finding(document: str, changes: dict[str, Any]) -> None:
    assert [str(found) for found in lint_manifest(changed(changes, document))] == []


def test_each_rule_on_other_jobs_has_a_wrong_case() -> None:
    cases = (*other_kinds.FIRES, *FIRES)
    assert {rule.id for rule in OTHER_JOB_RULES} <= {finding.rpartition("[")[2][:-1] for _, _, finding in cases}


SERVICE = {"kind": "Service", "metadata": {"name": "ddp"}, "spec": {"ports": [{"port": 29500}]}}


def test_the_service_of_a_job_is_headless() -> None:
    job = changed({"spec template spec subdomain": "ddp"}, JOB)
    of_service, of_job = lint_documents([SERVICE, job])
    assert of_job == []
    assert [str(found) for found in of_service] == [
        "error: spec.clusterIP: is missing: the Service is the pods' subdomain, and without None their names do not "
        "resolve; write clusterIP: None [service-not-headless]"
    ]


def test_a_headless_or_another_service_is_right() -> None:
    job = changed({"spec template spec subdomain": "ddp"}, JOB)
    headless = {**SERVICE, "spec": {"clusterIP": "None"}}
    assert lint_documents([headless, job])[0] == lint_documents([SERVICE, changed({}, JOB)])[0] == []


OF_POD = {"spec template spec subdomain": "ddp", "spec template metadata": {"labels": {"app": "ddp"}}}
HEADLESS = {"clusterIP": "None", "selector": {"app": "ddp"}}
SERVICES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"spec": HEADLESS | {"selector": {"app": "other"}}},
        {},
        "error: spec.selector.app: is 'other', but the pods of the Job have 'ddp', and their names do not resolve; "
        "write the pods' label, or label them so [service-selects-other-pods]",
    ),
    (
        {"spec": HEADLESS | {"selector": {"job-name": "other"}}},
        {},
        "error: spec.selector.job-name: is 'other', but the pods of the Job have 'ddp', and their names do not "
        "resolve; write the pods' label, or label them so [service-selects-other-pods]",
    ),
    (
        {"spec": HEADLESS, "metadata": {"name": "ddp", "namespace": "a"}},
        {"metadata namespace": "b"},
        "error: metadata.namespace: is 'a', but the pods of the Job are in 'b', and their names do not resolve; write "
        "b [service-in-other-namespace]",
    ),
    (
        {"spec": HEADLESS, "metadata": {"name": "train"}},
        {},
        "error: metadata.name: is 'train', but the subdomain of the pods that it selects is 'ddp'; write ddp, or that "
        "subdomain: train [service-of-other-name]",
    ),
]


@pytest.mark.parametrize(("service", "changes", "finding"), SERVICES)
def test_a_service_gives_the_pods_of_a_job_their_names(
    service: dict[str, Any], changes: dict[str, Any], finding: str
) -> None:
    of_service, of_job = lint_documents([SERVICE | service, changed({**OF_POD, **changes}, JOB)])
    assert of_job == []
    assert [str(found) for found in of_service] == [finding]


def test_each_rule_on_services_has_a_wrong_case() -> None:
    found = {finding.rpartition("[")[2][:-1] for _, _, finding in SERVICES} | {"service-not-headless"}
    assert {rule.id for rule in SERVICE_RULES} == found


def test_a_service_with_the_labels_of_the_pods_is_right() -> None:
    for selector in ({"app": "ddp"}, {"job-name": "ddp"}, {"batch.kubernetes.io/job-name": "ddp"}, {"a.b/c": "d"}):
        service = {**SERVICE, "spec": HEADLESS | {"selector": selector}}
        assert lint_documents([service, changed(OF_POD, JOB)]) == [[], []]
