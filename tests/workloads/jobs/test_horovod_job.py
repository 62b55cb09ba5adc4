from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.pods import job_end, launcher, network_line
from training.runtime import errors, files, stop_request
from training_workloads import HorovodJobSpec, InputError, SharedVolume
from training_workloads.mpijob import programs

Synthesize = Callable[[HorovodJobSpec], dict[str, Any]]


def replica(manifest: dict[str, Any], role: str) -> dict[str, Any]:
    return dict(manifest["spec"]["mpiReplicaSpecs"][role])


def pod(manifest: dict[str, Any], role: str) -> dict[str, Any]:
    return dict(replica(manifest, role)["template"]["spec"])


@pytest.mark.parametrize(("interfaces", "devices", "network"), [(1, 1, "AWS Libfabric"), (0, None, "Socket")])
def test_a_measurement_may_use_some_of_the_efa_interfaces(
    job_spec: HorovodJobSpec, synthesize: Synthesize, interfaces: int, devices: int | None, network: str
) -> None:
    spec = job_spec.replaced(instance_type="p4d.24xlarge", workers=2, efa_interfaces=interfaces)
    manifest = synthesize(spec)
    limits = pod(manifest, "Worker")["containers"][0]["resources"]["limits"]
    assert (limits["nvidia.com/gpu"], limits.get("vpc.amazonaws.com/efa")) == (8, devices)
    variables = {each["name"]: each["value"] for each in pod(manifest, "Launcher")["containers"][0]["env"]}
    assert variables["NCCL_NET"] == network


def test_every_exported_variable_is_set_on_the_launcher(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    container = pod(synthesize(job_spec.replaced(environment={"SEED": "7"})), "Launcher")["containers"][0]
    words = container["command"]
    exported = {words[i + 1] for i, word in enumerate(words) if word == "-x"}
    variables = {entry["name"]: entry["value"] for entry in container["env"]}
    assert variables["SEED"] == "7"
    assert exported - {"PATH", "LD_LIBRARY_PATH"} <= set(variables)
    assert "SEED" in exported


def test_a_users_variable_overrides_a_derived_one(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    manifest = synthesize(job_spec.replaced(environment={"NCCL_DEBUG": "WARN"}))
    env = pod(manifest, "Launcher")["containers"][0]["env"]
    assert [entry["value"] for entry in env if entry["name"] == "NCCL_DEBUG"] == ["WARN"]


@pytest.mark.parametrize(
    ("change", "placement"),
    [
        ({"instance_type": "p3dn.24xlarge"}, ["ppr:4:socket", "socket"]),
        ({"instance_type": "p5.48xlarge"}, ["ppr:4:socket", "socket"]),
        # One socket, or a part of a node, leaves nothing to choose.
        ({"instance_type": "g5.12xlarge"}, ["slot", "none"]),
        ({"instance_type": "p4d.24xlarge", "gpus_per_worker": 4}, ["slot", "none"]),
        ({"instance_type": "p4d.24xlarge", "bind_to": "none"}, ["slot", "none"]),
    ],
)
def test_ranks_of_a_whole_node_are_bound_to_the_socket_of_their_gpu(
    change: dict[str, Any], placement: list[str], job_spec: HorovodJobSpec, synthesize: Synthesize
) -> None:
    words = pod(synthesize(job_spec.replaced(**change)), "Launcher")["containers"][0]["command"]
    assert [words[words.index(flag) + 1] for flag in ("--map-by", "--bind-to")] == placement


def options(manifest: dict[str, Any]) -> list[str]:
    """Return the options of the launcher, before the hostfile."""
    command: list[str] = pod(manifest, "Launcher")["containers"][0]["command"]
    return command[3 : command.index("/etc/mpi/hostfile")]


def test_the_launcher_knows_what_each_worker_has_requested(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    manifest = synthesize(job_spec.replaced(instance_type="p4d.24xlarge"))
    given = "--timeout 1800 --restarts 10 --gate yes --gpus 8 --efa 4 --hugepages-mib 5120 --shm-mib 32768 --mount /fsx"
    assert options(manifest) == given.split()
    settings = launcher.parse(
        [*options(manifest), "/etc/mpi/hostfile", "--", "true"],
    )
    limits = pod(manifest, "Worker")["containers"][0]["resources"]["limits"]
    assert (settings.gpus, settings.efa) == (
        limits["nvidia.com/gpu"],
        limits["vpc.amazonaws.com/efa"],
    )
    assert limits["hugepages-2Mi"] == f"{settings.hugepages_mib}Mi"


def test_what_a_worker_has_not_requested_is_not_checked(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    manifest = synthesize(job_spec.replaced(instance_type="g5.2xlarge", volumes=()))
    assert options(manifest) == "--timeout 1800 --restarts 10 --gate yes --gpus 1 --shm-mib 4096".split()


def test_limits_and_the_gate_are_the_jobs(job_spec: HorovodJobSpec, synthesize: Synthesize) -> None:
    spec = job_spec.replaced(backoff_limit=1, start_timeout_seconds=7200, gate=False)
    manifest = synthesize(spec)
    assert options(manifest)[:6] == ["--timeout", "7200", "--restarts", "1", "--gate", "no"]
    # No more pods of the launcher than restarts of the ranks.
    assert manifest["spec"]["runPolicy"]["backoffLimit"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workers": 0}, "'workers' is 0; give 1 or more"),
        ({"workers": "2"}, "'workers' is '2'; give a whole number, 1 or more"),
        ({"workers": True}, "'workers' is True; give a whole number, 1 or more"),
        ({"gpus_per_worker": 1.5}, "'gpus_per_worker' is 1.5; give a whole number, 1 or more"),
        (
            {"command": "python train.py"},
            "'command' is 'python train.py'; give a tuple of words: ('python', 'train.py')",
        ),
        ({"command": ("python", 3)}, "'command' is ['python', 3]; give the program that each rank runs, as a tuple"),
        ({"image": ""}, "'image' is ''; give the image's address, such as <repository>:<tag>"),
        ({"image": "https://ecr/training"}, "'image' is 'https://ecr/training'; omit 'https://'"),
        ({"namespace": "Team A"}, "'namespace' is 'Team A'; give lower-case letters, digits and '-', at most 63"),
        ({"environment": {"A=B": "1"}}, "'environment.A=B' is 'A=B'; give names of letters, digits and '_'"),
        ({"environment": {"EPOCHS": 3}}, "'environment.EPOCHS' is 3; give a text without NUL characters, in quotes"),
        ({"environment": {"A": "x\0y"}}, r"'environment.A' is 'x\x00y'; give a text without NUL characters, in quotes"),
        (
            {"environment": {"NCCL_SOCKET_IFNAME": "=lo"}},
            "'environment.NCCL_SOCKET_IFNAME' is '=lo', but through it a worker reaches only itself; give eth0",
        ),
        ({"environment": {"HOROVOD_GLOO_IFACE": "lo"}}, "'environment.HOROVOD_GLOO_IFACE' is 'lo', but through it"),
        (
            {"environment": {"NCCL_SOCKET_IFNAME": "^eth"}},
            "'environment.NCCL_SOCKET_IFNAME' is '^eth', but it excludes eth0, the only interface of a pod; give eth0",
        ),
        (
            {"volumes": (SharedVolume(mount_path="/home/mpiuser/.ssh"),)},
            "'volumes[0].mount_path' is '/home/mpiuser/.ssh', but the operator mounts the job's ssh keys at",
        ),
        (
            {"command": ("python", "a\0.py")},
            r"'command' is ['python', 'a\x00.py']; give the program that",
        ),
        (
            {"deadline_seconds": 2**53},
            "'deadline_seconds' is 9007199254740992, but Kubernetes counts nanoseconds, and a longer time overflows: "
            "the job would end at once; give 9223372036 or less",
        ),
        (
            {"workers": 50_000_000},
            "'workers' is 50000000, but Kubernetes supports 5000 nodes, and the MPI operator keeps all workers in "
            "memory; give 5000 or less",
        ),
        ({"environment": ("A", "1")}, "'environment' is ['A', '1']; give names with their values"),
        ({"volumes": SharedVolume()}, "'volumes' is a SharedVolume; give a tuple of SharedVolume"),
        ({"volumes": ("/fsx",)}, "'volumes[0]' is '/fsx'; give SharedVolume(...)"),
        (
            {"volumes": (SharedVolume(), SharedVolume(claim="b"))},
            "'volumes[1].mount_path' is '/fsx', but another volume has the same path; give",
        ),
        ({"volumes": 5}, "'volumes' is 5; give a tuple of SharedVolume"),
        ({"backoff_limit": -1}, "'backoff_limit' is -1; give 0 or more"),
        ({"backoff_limit": 2**31}, "'backoff_limit' is 2147483648; give 2147483647 or less"),
        ({"deadline_seconds": 0}, "'deadline_seconds' is 0; give 1 or more"),
        ({"start_timeout_seconds": 0}, "'start_timeout_seconds' is 0; give 1 or more"),
        ({"gate": "no"}, "'gate' is 'no'; give true or false"),
        ({"efa": False}, "'efa' is False, but there is no such key; did you mean efa_interfaces?"),
        ({"efa_interfaces": False}, "'efa_interfaces' is False; give a whole number, 0 or more"),
        (
            {"instance_type": "g5.4xlarge", "efa_interfaces": 1},
            "'efa_interfaces' is 1, but g5.4xlarge has 0; lower it, or omit it to use all",
        ),
        ({"scheduling": "gpu"}, "'scheduling' is 'gpu'; give Scheduling(...)"),
        ({"service_account": "A"}, "'service_account' is 'A'; give a name of lower-case letters, digits, '-' and '.'"),
        ({"bind_to": "core"}, "'bind_to' is 'core'; give one of socket, none"),
        (
            {"bind_to": "socket", "gpus_per_worker": 4, "efa_interfaces": 0},
            "'bind_to' is 'socket', but a worker with 4 of the 8 GPUs of p3dn.24xlarge does not have an equal number",
        ),
        ({"command": ()}, "'command' is []; give the program that each rank runs, as a tuple of words"),
        (
            {"gpus_per_worker": 9},
            "'gpus_per_worker' is 9, but p3dn.24xlarge has 8 GPUs; lower it to 8 or fewer, or use more workers",
        ),
        ({"name": "x" * 60}, "use a name of 54 characters or fewer"),
    ],
)
def test_rejects_what_cannot_run(change: dict[str, Any], message: str, job_spec: HorovodJobSpec) -> None:
    with pytest.raises(InputError) as caught:
        job_spec.replaced(**change)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"environment": {"NCCL_SOCKET_IFNAME": "^lo,docker"}},
        {"environment": {"NCCL_SOCKET_IFNAME": "^=eth"}},
        {"environment": {"GLOO_SOCKET_IFNAME": "net1"}},
        # All ranks are in one pod.
        {"environment": {"NCCL_SOCKET_IFNAME": "lo"}, "workers": 1},
        {"volumes": (SharedVolume(mount_path="/home/mpiuser/.sshd"),)},
    ],
)
def test_accepts_what_can_run_somewhere(change: dict[str, Any], job_spec: HorovodJobSpec) -> None:
    assert job_spec.replaced(**change)


def test_an_image_may_be_known_only_at_deployment(job_spec: HorovodJobSpec) -> None:
    image = "${Token[Repository.1]}:1"
    assert job_spec.replaced(image=image).image == image


def test_the_dockerfile_builds_the_image_that_jobs_expect(root: Path) -> None:
    dockerfile = (root / "training/Dockerfile").read_text()
    assert f"useradd --uid {programs.UID} " in dockerfile
    assert f"USER {programs.UID}:{programs.UID}" in dockerfile
    assert f" training/pods/sshd_config {programs.SSHD_CONFIG}\n" in dockerfile
    assert f'"-f", "{programs.SSHD_CONFIG}"]' in dockerfile
    sshd_config = (root / "training/pods/sshd_config").read_text().splitlines()
    assert f"Port {programs.SSH_PORT}" in sshd_config
    assert f"HostKey {programs.HOME}/.ssh/id_rsa" in sshd_config


def test_the_programs_of_the_image_end_with_the_codes_that_jobs_expect() -> None:
    assert (errors.USER_ERROR, stop_request.STOPPED) == (programs.USER_ERROR, programs.STOPPED) == (2, 75)


def test_the_launcher_of_the_image_prints_what_the_commands_look_for() -> None:
    assert network_line.NETWORK_LINE == programs.NETWORK_LINE
    assert files.RESULTS_LINE == programs.RESULTS_LINE
    # A container's default, which no job changes.
    assert str(job_end.TERMINATION_LOG) == "/dev/termination-log"


def test_a_job_is_derived_once(job_spec: HorovodJobSpec) -> None:
    assert job_spec.mpi_job is job_spec.mpi_job
    assert job_spec.resources is job_spec.resources
    assert job_spec.replaced(workers=3).mpi_job.workers == 3
