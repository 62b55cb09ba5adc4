"""Every rule of the lint, each a function named like its id; docs/lint.md gives the reason of each."""

from training_workloads.lint.finding import Rule
from training_workloads.lint.rules import (
    container_rules,
    device_rules,
    environment_rules,
    job_rules,
    launch_rules,
    pod_rules,
    schema_rules,
    storage_rules,
)
from training_workloads.lint.rules.storage_rules import Storage
from training_workloads.mpijob.view import MpiJobView

__all__ = ["FIELD_RULES", "JOB_RULES", "STORAGE_RULES"]

#: Rules on what an MPIJob does.
JOB_RULES: tuple[Rule[MpiJobView], ...] = (
    Rule("error", job_rules.api_version),
    Rule("error", job_rules.job_name),
    Rule("error", job_rules.missing_launcher),
    Rule("error", job_rules.missing_workers),
    Rule("error", job_rules.worker_replicas),
    Rule("error", job_rules.launcher_replicas),
    Rule("error", job_rules.missing_containers),
    Rule("error", job_rules.slots_per_worker),
    Rule("error", job_rules.restart_policy),
    Rule("error", job_rules.launcher_creation_policy),
    Rule("error", job_rules.gang_deadlock),
    Rule("warning", job_rules.workers_outlive_job),
    Rule("warning", job_rules.missing_readiness_probe),
    Rule("warning", job_rules.launcher_may_be_too_early),
    Rule("warning", job_rules.suspended_launcher_does_not_wait),
    Rule("error", launch_rules.np_exceeds_slots),
    Rule("warning", launch_rules.np_leaves_slots_idle),
    Rule("error", launch_rules.elastic_range),
    Rule("error", launch_rules.elastic_without_slots),
    Rule("warning", launch_rules.missing_hostfile),
    Rule("warning", launch_rules.ranks_bound_to_one_core),
    Rule("warning", launch_rules.single_process),
    Rule("error", environment_rules.efa_not_requested),
    Rule("warning", environment_rules.variables_do_not_reach_ranks),
    Rule("warning", environment_rules.host_network_interface),
    Rule("warning", environment_rules.fork_safe_variable),
    Rule("error", device_rules.quantity),
    Rule("error", device_rules.whole_devices),
    Rule("error", device_rules.device_limits),
    Rule("error", device_rules.hugepages_alone),
    Rule("warning", device_rules.devices_exceed_node),
    Rule("warning", device_rules.amounts_exceed_node),
    Rule("error", device_rules.launcher_holds_gpus),
    Rule("warning", device_rules.slots_differ_from_gpus),
    Rule("warning", device_rules.missing_gpu_toleration),
    Rule("warning", device_rules.efa_left_unused),
    Rule("warning", device_rules.efa_without_hugepages),
    Rule("warning", device_rules.efa_memory),
    Rule("error", container_rules.empty_container),
    Rule("error", container_rules.missing_image),
    Rule("error", container_rules.image_address),
    Rule("error", container_rules.container_names),
    Rule("error", container_rules.unknown_volume),
    Rule("error", container_rules.mount_paths),
    Rule("error", container_rules.command_in_one_word),
    Rule("error", pod_rules.keys_not_readable),
    Rule("error", pod_rules.worker_without_sshd),
    Rule("error", pod_rules.work_not_in_first_container),
    Rule("warning", pod_rules.template_restart_policy),
    Rule("warning", pod_rules.small_shared_memory),
    Rule("warning", pod_rules.shared_memory_of_the_node),
)

#: Rules on the fields of an MPIJob and their types.
FIELD_RULES: tuple[Rule[MpiJobView], ...] = (
    Rule("error", schema_rules.mpi_job_fields),
    Rule("error", schema_rules.pod_template_fields),
)

#: Rules on PersistentVolumes, PersistentVolumeClaims and StorageClasses.
STORAGE_RULES: tuple[Rule[Storage], ...] = (
    Rule("error", storage_rules.volume_recycled),
    Rule("error", storage_rules.lustre_volume_attributes),
    Rule("warning", storage_rules.claim_without_volume_name),
    Rule("warning", storage_rules.claim_without_class),
    Rule("error", storage_rules.persistent_2_with_s3),
    Rule("warning", storage_rules.lustre_version_unset),
)
