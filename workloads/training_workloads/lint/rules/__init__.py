"""Every rule of the lint, each a function named like its id; docs/lint-rules.md shows them with their evidence.

A module has the rules on one subject: `PodGroup` (the pods of one template, of any kind of workload), `WorkloadView`
(pods that run together), `MpiJobView` (what is special to an MPIJob), `Storage` (volumes, their claims and classes, and
a Service), `Document` (the text of any object), `Suppression` (a comment that suppresses findings), `SecuredPods` (the
opt-in group `security`).
"""

from training_workloads.lint.rule import Rule, rules_of
from training_workloads.lint.rules import (
    binding_rules,
    command_rules,
    container_rules,
    debugging_rules,
    definition_rules,
    device_rules,
    document_rules,
    efa_rules,
    elastic_rules,
    gpu_pod_rules,
    host_rules,
    image_rules,
    job_rules,
    launch_rules,
    lifetime_rules,
    lustre_rules,
    metadata_rules,
    mount_rules,
    name_rules,
    network_rules,
    node_rules,
    option_rules,
    other_job_rules,
    pod_name_rules,
    pod_placement_rules,
    pod_security_rules,
    probe_rules,
    queue_rules,
    rank_rules,
    rendezvous_rules,
    resource_rules,
    run_policy_rules,
    scheduling_rules,
    schema_rules,
    security_rules,
    service_rules,
    shared_memory_rules,
    ssh_key_rules,
    sshd_rules,
    storage_rules,
    suppression_rules,
    torch_rules,
    value_rules,
    variable_rules,
    volume_rules,
)
from training_workloads.lint.rules.pod_security_rules import SecuredPods
from training_workloads.lint.rules.storage_rules import Storage
from training_workloads.lint.rules.suppression_rules import Suppression
from training_workloads.manifests.documents import Document
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.view import MpiJobView

__all__ = [
    "DOCUMENT_RULES",
    "EVERY_RULE",
    "FIELD_RULES",
    "JOB_RULES",
    "METADATA_RULES",
    "OTHER_JOB_RULES",
    "POD_API_RULES",
    "POD_RULES",
    "SECURITY_RULES",
    "SERVICE_RULES",
    "STORAGE_RULES",
    "SUPPRESSION_RULES",
    "WORKLOAD_RULES",
]

#: Rules on what an MPIJob does.
JOB_RULES: tuple[Rule[MpiJobView], ...] = rules_of(
    *(job_rules, run_policy_rules, launch_rules, option_rules, host_rules, binding_rules),
    *(elastic_rules, rank_rules, sshd_rules, ssh_key_rules, definition_rules),
)

#: Rules on jobs of other kinds.
OTHER_JOB_RULES: tuple[Rule[WorkloadView], ...] = rules_of(other_job_rules, pod_name_rules, torch_rules)

#: Rules on pods that run together, of an MPIJob or another kind.
WORKLOAD_RULES: tuple[Rule[WorkloadView], ...] = rules_of(
    queue_rules,
    device_rules,
    gpu_pod_rules,
    efa_rules,
    network_rules,
    rendezvous_rules,
    variable_rules,
    debugging_rules,
    shared_memory_rules,
    image_rules,
    lifetime_rules,
    pod_placement_rules,
)

#: Rules on the pods of one template.
POD_RULES: tuple[Rule[PodGroup], ...] = rules_of(command_rules, mount_rules, node_rules)

#: Rules on the pods of one template that the API server or the kubelet enforces, whatever the pods are for.
POD_API_RULES: tuple[Rule[PodGroup], ...] = rules_of(
    container_rules,
    name_rules,
    volume_rules,
    resource_rules,
    probe_rules,
    scheduling_rules,
    security_rules,
    value_rules,
)

#: Rules on labels and names of objects, and on fields and their types, of a job of any kind.
METADATA_RULES: tuple[Rule[WorkloadView], ...] = rules_of(metadata_rules)
FIELD_RULES: tuple[Rule[WorkloadView], ...] = rules_of(schema_rules)

#: Rules on PersistentVolumes, PersistentVolumeClaims and StorageClasses.
STORAGE_RULES: tuple[Rule[Storage], ...] = rules_of(storage_rules, lustre_rules)

#: Rules on a Service beside a job.
SERVICE_RULES: tuple[Rule[Storage], ...] = rules_of(service_rules)

#: Rules on the text of a document.
DOCUMENT_RULES: tuple[Rule[Document], ...] = rules_of(document_rules)

#: Rules on the comments that suppress findings.
SUPPRESSION_RULES: tuple[Rule[Suppression], ...] = rules_of(suppression_rules)

#: The group `security`: rules that run only where they are selected, since a job may need what they find.
SECURITY_RULES: tuple[Rule[SecuredPods], ...] = rules_of(pod_security_rules)

#: All of them, in the order of docs/lint-rules.md.
EVERY_RULE: tuple[
    Rule[MpiJobView]
    | Rule[WorkloadView]
    | Rule[PodGroup]
    | Rule[Storage]
    | Rule[Document]
    | Rule[Suppression]
    | Rule[SecuredPods],
    ...,
] = (
    *JOB_RULES,
    *OTHER_JOB_RULES,
    *WORKLOAD_RULES,
    *POD_RULES,
    *POD_API_RULES,
    *METADATA_RULES,
    *FIELD_RULES,
    *STORAGE_RULES,
    *SERVICE_RULES,
    *DOCUMENT_RULES,
    *SUPPRESSION_RULES,
    *SECURITY_RULES,
)
