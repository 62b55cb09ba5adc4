"""Every rule of the lint, each a function named like its id; docs/lint.md says why each is one."""

from training_workloads.mpijob.view import Job
from training_workloads.lint.rules import containers, devices, environment, job, launch, pods, schema, storage
from training_workloads.lint.rule import Rule
from training_workloads.lint.rules.storage import Storage

__all__ = ["FIELD_RULES", "JOB_RULES", "STORAGE_RULES"]

#: Rules on what an MPIJob does.
JOB_RULES: tuple[Rule[Job], ...] = (
    Rule("error", job.api_version),
    Rule("error", job.job_name),
    Rule("error", job.missing_launcher),
    Rule("error", job.missing_workers),
    Rule("error", job.worker_replicas),
    Rule("error", job.launcher_replicas),
    Rule("error", job.missing_containers),
    Rule("error", job.slots_per_worker),
    Rule("error", job.restart_policy),
    Rule("error", job.launcher_creation_policy),
    Rule("error", job.gang_deadlock),
    Rule("warning", job.workers_outlive_job),
    Rule("warning", job.missing_readiness_probe),
    Rule("warning", job.launcher_may_be_too_early),
    Rule("warning", job.suspended_launcher_does_not_wait),
    Rule("error", launch.np_exceeds_slots),
    Rule("warning", launch.np_leaves_slots_idle),
    Rule("error", launch.elastic_range),
    Rule("error", launch.elastic_without_slots),
    Rule("warning", launch.missing_hostfile),
    Rule("warning", launch.ranks_bound_to_one_core),
    Rule("warning", launch.single_process),
    Rule("error", environment.efa_not_requested),
    Rule("warning", environment.variables_do_not_reach_ranks),
    Rule("warning", environment.host_network_interface),
    Rule("warning", environment.fork_safe_variable),
    Rule("error", devices.quantity),
    Rule("error", devices.whole_devices),
    Rule("error", devices.device_limits),
    Rule("error", devices.hugepages_alone),
    Rule("warning", devices.devices_exceed_node),
    Rule("warning", devices.amounts_exceed_node),
    Rule("error", devices.launcher_holds_gpus),
    Rule("warning", devices.slots_differ_from_gpus),
    Rule("warning", devices.missing_gpu_toleration),
    Rule("warning", devices.efa_left_unused),
    Rule("warning", devices.efa_without_hugepages),
    Rule("warning", devices.efa_memory),
    Rule("error", containers.empty_container),
    Rule("error", containers.missing_image),
    Rule("error", containers.container_names),
    Rule("error", containers.unknown_volume),
    Rule("error", containers.mount_paths),
    Rule("error", containers.command_in_one_word),
    Rule("error", pods.keys_not_readable),
    Rule("error", pods.worker_without_sshd),
    Rule("error", pods.work_not_in_first_container),
    Rule("warning", pods.template_restart_policy),
    Rule("warning", pods.small_shared_memory),
    Rule("warning", pods.shared_memory_of_the_node),
)

#: Rules on the fields of an MPIJob and their types.
FIELD_RULES: tuple[Rule[Job], ...] = (
    Rule("error", schema.mpi_job_fields),
    Rule("error", schema.pod_template_fields),
)

#: Rules on PersistentVolumes, PersistentVolumeClaims and StorageClasses.
STORAGE_RULES: tuple[Rule[Storage], ...] = (
    Rule("error", storage.volume_recycled),
    Rule("error", storage.lustre_volume_attributes),
    Rule("warning", storage.claim_without_volume_name),
    Rule("warning", storage.claim_without_class),
    Rule("error", storage.persistent_2_with_s3),
    Rule("warning", storage.lustre_version_unset),
)
