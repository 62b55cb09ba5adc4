"""Every rule of the lint, each a function named like its id; docs/lint-rules.md shows them with their evidence.

A module has the rules on one subject: `PodGroup` (the pods of one template, of any kind of workload), `WorkloadView`
(pods that run together), `MpiJobView` (what is special to an MPIJob), `Storage` (volumes).
"""

from training_workloads.lint.ignore_comments import Suppression
from training_workloads.lint.rule import Rule, rules_of
from training_workloads.lint.rules import (
    command_rules,
    container_rules,
    efa_rules,
    elastic_rules,
    gang_rules,
    host_rules,
    job_rules,
    launch_rules,
    network_rules,
    node_rules,
    option_rules,
    placement_rules,
    queue_rules,
    rank_rules,
    resource_rules,
    run_policy_rules,
    schema_rules,
    shared_memory_rules,
    ssh_key_rules,
    sshd_rules,
    storage_rules,
    suppression_rules,
    volume_rules,
)
from training_workloads.lint.rules.storage_rules import Storage
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.view import MpiJobView

__all__ = [
    "EVERY_RULE",
    "FIELD_RULES",
    "JOB_RULES",
    "POD_RULES",
    "STORAGE_RULES",
    "SUPPRESSION_RULES",
    "WORKLOAD_RULES",
]

#: Rules on what an MPIJob does.
JOB_RULES: tuple[Rule[MpiJobView], ...] = rules_of(
    *(job_rules, run_policy_rules, gang_rules, launch_rules, option_rules, host_rules, placement_rules),
    *(elastic_rules, rank_rules, sshd_rules, ssh_key_rules),
)

#: Rules on pods that run together, of an MPIJob or another kind.
WORKLOAD_RULES: tuple[Rule[WorkloadView], ...] = rules_of(queue_rules, efa_rules, network_rules, shared_memory_rules)

#: Rules on the pods of one template.
POD_RULES: tuple[Rule[PodGroup], ...] = rules_of(
    command_rules, container_rules, volume_rules, resource_rules, node_rules
)

#: Rules on the fields of an MPIJob and their types.
FIELD_RULES: tuple[Rule[MpiJobView], ...] = rules_of(schema_rules)

#: Rules on PersistentVolumes, PersistentVolumeClaims and StorageClasses.
STORAGE_RULES: tuple[Rule[Storage], ...] = rules_of(storage_rules)

#: Rules on the comments that suppress findings.
SUPPRESSION_RULES: tuple[Rule[Suppression], ...] = rules_of(suppression_rules)

#: All of them, in the order of docs/lint-rules.md.
EVERY_RULE: tuple[Rule[MpiJobView] | Rule[WorkloadView] | Rule[PodGroup] | Rule[Storage] | Rule[Suppression], ...] = (
    *JOB_RULES,
    *WORKLOAD_RULES,
    *POD_RULES,
    *FIELD_RULES,
    *STORAGE_RULES,
    *SUPPRESSION_RULES,
)
