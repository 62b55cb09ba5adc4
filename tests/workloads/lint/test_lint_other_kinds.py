"""The rules on Jobs, JobSets, PyTorchJobs and TrainJobs, each on a right object of the kind and on wrong ones."""

from typing import Any

import pytest

from tests.workloads.lint.sample_job import GONE, changed
from training_workloads.lint import lint_manifest

_POD = """
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
      containers:
        - name: pytorch
          image: image:1
          command: [torchrun, --master-addr=m, --nnodes=2, --nproc-per-node=8, --node-rank=$(JOB_COMPLETION_INDEX), t]
          env: [{name: FI_PROVIDER, value: efa}]
          resources: &amounts
            requests: {cpu: "90", memory: 900Gi, nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32, hugepages-2Mi: 5120Mi}
            limits: {memory: 900Gi, nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32, hugepages-2Mi: 5120Mi}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""


def indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)


JOB = f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: ddp}}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    spec:{_POD}"""

JOB_SET = f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: ddp}}
spec:
  successPolicy: {{operator: All, targetReplicatedJobs: [node]}}
  replicatedJobs:
    - name: node
      template:
        spec:
          completionMode: Indexed
          completions: 2
          parallelism: 2
          template:
            spec:{indented(_POD, 8)}"""

RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {numProcPerNode: auto}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: image:1
"""

PYTORCH_JOB = f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: fsdp}}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:{indented(_POD.replace("      restartPolicy: Never", ""), 4)}
    Worker:
      replicas: 1
      template:
        spec:{indented(_POD.replace("      restartPolicy: Never", "").replace("&amounts", "&others"), 4)}"""

TRAIN_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    numProcPerNode: 8
    image: image:1
    command: [torchrun, train.py]
    env: [{name: FI_PROVIDER, value: efa}]
    resourcesPerNode:
      requests: {cpu: "90", memory: 900Gi, nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32, hugepages-2Mi: 5120Mi}
      limits: {memory: 900Gi, nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32, hugepages-2Mi: 5120Mi}
"""

TF_JOB = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: tf}
spec:
  tfReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: "image:1"}]}}}
"""

PLAIN_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: clean}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: clean, image: "busybox:1", command: [rm, -r, /data/old]}]
"""

CONTAINER = "spec template spec containers 0"
MASTER = "spec pytorchReplicaSpecs Master template spec containers 0"
SET = "spec replicatedJobs 0 template spec"
COMMAND = f"{CONTAINER} command"


def command(nodes: int = 2, ranks: int = 8) -> list[str]:
    return ["torchrun", "--master-addr=rank-0", f"--nnodes={nodes}", f"--nproc-per-node={ranks}", "train.py"]


# Document, changes, then each finding.
FIRES: list[tuple[str, dict[str, Any], str]] = [
    (
        PYTORCH_JOB,
        {f"{MASTER} name": "trainer"},
        "error: spec.pytorchReplicaSpecs.Master.template.spec.containers[0].name: is 'trainer', and the "
        "operator rejects "
        "a Master without a container named pytorch; name the container of the ranks pytorch [framework-container]",
    ),
    (
        TF_JOB,
        {"spec tfReplicaSpecs Worker template spec containers 0 name": "tf"},
        "error: spec.tfReplicaSpecs.Worker.template.spec.containers[0].name: is 'tf', and the operator "
        "rejects a Worker "
        "without a container named tensorflow; name the container of the ranks tensorflow [framework-container]",
    ),
    (
        PYTORCH_JOB,
        {"spec pytorchReplicaSpecs Master replicas": 2, "spec pytorchReplicaSpecs Worker": GONE},
        "error: spec.pytorchReplicaSpecs.Master.replicas: is 2, but a job has one Master; write 1, and give "
        "the others to "
        "Worker [one-master]",
    ),
    (
        JOB,
        {"spec template spec restartPolicy": GONE},
        "error: spec.template.spec.restartPolicy: is missing, and the default is Always, which is not for Jobs; write "
        "Never or OnFailure [job-restart-policy]",
    ),
    (
        JOB_SET,
        {f"{SET} template spec restartPolicy": "Always"},
        "error: spec.replicatedJobs[0].template.spec.template.spec.restartPolicy: is Always, which is not "
        "for Jobs; write "
        "Never or OnFailure [job-restart-policy]",
    ),
    (
        JOB,
        {"spec completions": GONE},
        "error: spec.completions: is missing, and an Indexed Job needs it; give the number of pods, as "
        "parallelism has it "
        "[indexed-without-completions]",
    ),
    (
        JOB,
        {"spec completionMode": "indexed", COMMAND: command()},
        "error: spec.completionMode: is 'indexed', and is rejected; did you mean Indexed? known: Indexed, NonIndexed "
        "[completion-mode]",
    ),
    (
        JOB_SET,
        {"spec successPolicy targetReplicatedJobs": ["nodes"]},
        "error: spec.successPolicy.targetReplicatedJobs[0]: is 'nodes', which is no replicated job of this JobSet; did "
        "you mean node? known: node [unknown-replicated-job]",
    ),
    (
        JOB_SET,
        {"metadata name": "n" * 60},
        "error: metadata.name: has 60 characters, and with '-node-0-1' after it a pod's name has more than 63; use 54 "
        "characters or fewer [job-set-name]",
    ),
    (
        JOB,
        {COMMAND: command(ranks=16)},
        "error: spec.template.spec.containers[0].command: starts 16 ranks, but the container has 8 GPUs; write "
        "--nproc-per-node=8 [ranks-exceed-gpus]",
    ),
    (
        JOB,
        {COMMAND: command(ranks=4)},
        "warning: spec.template.spec.containers[0].command: starts 4 ranks, but the container has 8 GPUs; write "
        "--nproc-per-node=8, or request fewer GPUs [gpus-without-ranks]",
    ),
    (
        JOB,
        {COMMAND: command(nodes=4)},
        "error: spec.template.spec.containers[0].command: is for 4 nodes, but the job has 2 pods; write --nnodes=2, or "
        "run 4 pods [nodes-differ-from-pods]",
    ),
    (
        PYTORCH_JOB,
        {"spec pytorchReplicaSpecs Worker replicas": 3},
        "error: spec.pytorchReplicaSpecs.Master.template.spec.containers[0].command: is for 2 nodes, but the job has 4 "
        "pods; write --nnodes=4, or run 2 pods [nodes-differ-from-pods]",
    ),
    (
        JOB,
        {"spec parallelism": 1},
        "error: spec.parallelism: is 1, but the 2 pods of completions wait for each other; write parallelism: 2 "
        "[pods-one-after-another]",
    ),
    (
        JOB,
        {"spec completionMode": GONE},
        "error: spec.completionMode: is missing, and the default is NonIndexed: the pods have no JOB_COMPLETION_INDEX; "
        "write completionMode: Indexed [job-not-indexed]",
    ),
    (
        JOB_SET,
        {f"{SET} completionMode": "NonIndexed"},
        "error: spec.replicatedJobs[0].template.spec.completionMode: is NonIndexed: the pods have no "
        "JOB_COMPLETION_INDEX; write completionMode: Indexed [job-not-indexed]",
    ),
    (
        JOB,
        {COMMAND: [*command()[:4], "--node-rank=$JOB_COMPLETION_INDEX", "train.py"]},
        "error: spec.template.spec.containers[0].command: has $JOB_COMPLETION_INDEX, which no shell expands; "
        "write $(JOB_COMPLETION_INDEX), which Kubernetes expands [shell-syntax-without-shell]",
    ),
    (
        TRAIN_JOB,
        {"spec trainer numProcPerNode": 16},
        "error: spec.trainer.numProcPerNode: is 16, but resourcesPerNode has 8 GPUs; write numProcPerNode: 8 "
        "[train-job-ranks]",
    ),
    (
        TRAIN_JOB,
        {"spec trainer numProcPerNode": 4},
        "warning: spec.trainer.numProcPerNode: is 4, but resourcesPerNode has 8 GPUs; write numProcPerNode: 8 "
        "[train-job-idle-gpus]",
    ),
    (
        PYTORCH_JOB,
        {"spec nprocPerNode": "16", f"{MASTER} command": ["torchrun", "train.py"]},
        'error: spec.nprocPerNode: is 16, but a pod of the Master has 8 GPUs; write "8" [processes-of-node]',
    ),
    (
        TRAIN_JOB,
        {"spec trainer env 0": {"name": "PET_NNODES", "value": "2"}},
        "error: spec.trainer.env[0]: sets PET_NNODES, and the TrainJob is rejected; remove it: numNodes and the "
        "trainer set it [reserved-variable]",
    ),
    (
        TRAIN_JOB,
        {"spec podTemplateOverrides": [{"spec": {"containers": [{"name": "node", "env": [{"name": "A"}]}]}}]},
        "error: spec.podTemplateOverrides[0].spec.containers[0].env: is of the container node, and the TrainJob is "
        "rejected; move it to spec.trainer.env [patched-variables]",
    ),
    (
        TRAIN_JOB,
        {"spec trainer replicas": 2},
        "error: spec.trainer.replicas: is not a field here, and is rejected or dropped without a warning; known: args, "
        "command, env, image, numNodes, numProcPerNode, resourcesPerNode [unknown-field]",
    ),
    (
        JOB_SET,
        {"spec replicatedJobs 0 name": "Node", "spec successPolicy targetReplicatedJobs": ["Node"]},
        "error: spec.replicatedJobs[0].name: is 'Node', and is rejected; use lower-case letters, digits and '-', a "
        "letter first [replicated-job-name]",
    ),
    (
        TRAIN_JOB,
        {"spec runtimeRef": GONE},
        "error: spec.runtimeRef: is missing; add it [job-fields]",
    ),
    (
        TRAIN_JOB,
        {"spec runtimeRef kind": "ClusterTrainingRuntimes"},
        "error: spec.runtimeRef.kind: is 'ClusterTrainingRuntimes'; did you mean ClusterTrainingRuntime or "
        "TrainingRuntime? known: ClusterTrainingRuntime, TrainingRuntime "
        "[job-fields]",
    ),
    (
        TRAIN_JOB,
        {"spec trainer resourcesPerNode limits memory": "900GB"},
        "error: spec.trainer.resourcesPerNode.limits.memory: is '900GB', but it is not an amount of Kubernetes; write "
        "900G [job-fields]",
    ),
    (
        TRAIN_JOB,
        {"spec podTemplateOverrides": [{"spec": {"dnsPolicy": "default"}}]},
        "error: spec.podTemplateOverrides[0].spec.dnsPolicy: is 'default', and the pod is rejected; did you mean "
        "Default? known: ClusterFirst, ClusterFirstWithHostNet, Default, None [unknown-word]",
    ),
    (
        TRAIN_JOB,
        {"spec trainer numNodes": "2"},
        "error: spec.trainer.numNodes: is '2', but the field takes a whole number; write 2 without quotes [job-fields]",
    ),
    (
        JOB,
        {"spec backofLimit": 4},
        "error: spec.backofLimit: is not a field here, and is rejected or dropped without a warning; did you mean "
        "backoffLimit? [unknown-field]",
    ),
    (
        PLAIN_JOB,
        {f"{CONTAINER} name": "clean_up"},
        "error: spec.template.spec.containers[0].name: is 'clean_up', and the pod is rejected; use lower-case letters, "
        "digits and '-', at most 63 [names]",
    ),
    (
        RUNTIME,
        {"spec template spec replicatedJobs 0 template spec template spec containers 0 image": GONE},
        "error: spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].image: is missing, and "
        "the pod is rejected; give the image that the container runs [missing-image]",
    ),
    (
        JOB,
        {"metadata": GONE},
        "error: metadata.name: is missing, and the API server rejects the job; give a name, or generateName "
        "[object-names]",
    ),
]

SILENT: list[tuple[str, dict[str, Any]]] = [
    # The option comes before the operator's variable.
    (PYTORCH_JOB, {"spec nprocPerNode": "16"}),
    # One Job for each node.
    (
        JOB,
        {
            "spec completions": 1,
            "spec parallelism": 1,
            COMMAND: [*command()[:3], "--node-rank=1", "--master-addr=ddp-svc", "train.py"],
        },
    ),
    # The webhook of JobSets writes Indexed.
    (JOB_SET, {f"{SET} completionMode": GONE}),
    (PYTORCH_JOB, {}),
    # The operator gives torchrun its numbers by variables.
    (PYTORCH_JOB, {f"{MASTER} command": ["torchrun", "train.py"], "spec pytorchReplicaSpecs Worker replicas": 1}),
    (PYTORCH_JOB, {"spec pytorchReplicaSpecs Worker replicas": "${WORKERS}"}),
    (TF_JOB, {}),
    (JOB, {}),
    (JOB, {COMMAND: ["torchrun", "--nproc_per_node", "gpu", "--nnodes", "1:4", "train.py"]}),
    (
        JOB,
        {
            COMMAND: [
                "bash",
                "-c",
                "torchrun --master-addr rank-0 --nnodes 2 \\\n --node-rank $JOB_COMPLETION_INDEX train.py",
            ]
        },
    ),
    (
        JOB,
        {
            COMMAND: [
                "python",
                "-m",
                "torch.distributed.run",
                "--master-addr=rank-0",
                "--nnodes=2",
                "--nproc-per-node=8",
                "train.py",
            ]
        },
    ),
    (JOB, {COMMAND: ["train", "--home=$TEAM_HOME"]}),
    (JOB_SET, {}),
    (JOB_SET, {f"{SET} template spec restartPolicy": GONE}),
    (JOB_SET, {"spec coordinator": {"replicatedJob": "node"}}),
    (TRAIN_JOB, {}),
    (TRAIN_JOB, {"spec trainer image": GONE, "spec trainer numProcPerNode": "auto"}),
    (TRAIN_JOB, {"spec runtimePatches": [{"manager": "a.b/c"}]}),
    (PLAIN_JOB, {}),
    (PLAIN_JOB, {"spec parallelism": 3, "spec completions": 9}),
    (RUNTIME, {}),
]


@pytest.mark.parametrize(("document", "changes", "finding"), FIRES)
def test_a_mistake_in_another_kind_of_job_is_one_finding(document: str, changes: dict[str, Any], finding: str) -> None:
    assert [str(found) for found in lint_manifest(changed(changes, document))] == [finding]


@pytest.mark.parametrize(("document", "changes"), SILENT)
def test_a_right_job_of_another_kind_has_no_findings(document: str, changes: dict[str, Any]) -> None:
    assert [str(found) for found in lint_manifest(changed(changes, document))] == []


@pytest.mark.parametrize("group", ["kubeflow.org/v2beta1", "example.com/v1"])
def test_a_kind_of_another_api_is_not_judged(group: str) -> None:
    assert lint_manifest(changed({"apiVersion": group, "spec": 5}, TRAIN_JOB)) == []


def rules_of(document: str, changes: dict[str, Any]) -> set[str]:
    return {finding.rule for finding in lint_manifest(changed(changes, document))}


def test_an_index_with_a_default_needs_no_indexed_job() -> None:
    script = ["bash", "-c", "python train.py --part ${JOB_COMPLETION_INDEX:-0}"]
    assert "job-not-indexed" not in rules_of(JOB, {COMMAND: script, "spec completionMode": GONE})


def test_pods_of_a_job_that_do_not_meet_need_neither_names_nor_efa() -> None:
    pod = "spec template spec"
    alone = {COMMAND: ["python", "predict.py"], f"{pod} containers 0 env": GONE, f"{pod} dnsPolicy": "Default"}
    for kind in ("requests", "limits"):
        alone[f"{pod} containers 0 resources {kind} vpc.amazonaws.com/efa"] = GONE
    assert rules_of(JOB, alone).isdisjoint({"node-dns", "efa-left-unused"})
    assert rules_of(JOB, {**alone, COMMAND: command()}) >= {"node-dns", "efa-left-unused"}
