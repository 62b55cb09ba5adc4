"""One MPIJob, with an emulation of the MPI operator v0.8.2, the Job controller and the kubelet.

The settings that the operator gives to the pods come from its release, not from this project's manifests:
https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go
"""

import copy
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.containers.emulated_pod import Pod
from tests.containers.kubelet_volume import KubeletVolume
from tests.containers.pod_spec import PodSpec
from tests.containers.podman import Podman

CONFIG_PATH = "/etc/mpi"
ROOT_SSH_PATH = "/root/.ssh"

# https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy
FIRST_BACKOFF_SECONDS = 10

# The kubelet updates a mounted ConfigMap when it next looks at the pod: 60 to 90 seconds on a real cluster, and at once
# where the pod itself has changed (0.3 seconds after a new annotation).
POD_SYNC_SECONDS = 75


class EmulatedMpiJob:
    """A job that runs while the `with` block waits for it; only its logs remain.

    Attributes:
        workers: The workers' pods, by their number.
        launchers: The pods of the launcher's Job, one for each attempt.
        room: How many workers the nodes have room for.
        further_mounts: By the name of a pod, what a device plugin adds to its container.
        config_map: The file of the operator's ConfigMap with the workers that run, as the API server has it.
        succeeded: Whether the launcher's Job succeeded; None while it runs.
    """

    def __init__(self, podman: Podman, manifest: dict[str, Any], claims: Mapping[str, Path], folder: Path) -> None:
        """Prepare the job.

        Args:
            podman: Podman with the job's image.
            manifest: The MPIJob.
            claims: The folder of each PersistentVolumeClaim.
            folder: An empty folder for the Secret, the ConfigMap and the logs.
        """
        self.workers: list[Pod] = []
        self.launchers: list[Pod] = []
        self.succeeded: bool | None = None
        self.config_map = ""
        self.room = sys.maxsize
        self.further_mounts: dict[str, dict[str, tuple[Path, str]]] = {}
        self._podman = podman
        self._name = manifest["metadata"]["name"]
        self._namespace = manifest["metadata"].get("namespace", "default")
        self._spec = manifest["spec"]
        self._wanted = self._spec["mpiReplicaSpecs"]["Worker"]["replicas"]
        self._claims = claims
        self._folder = folder
        group = self._replica("Worker")["template"]["spec"]["securityContext"]["fsGroup"]
        self._secret = KubeletVolume(folder / "secret", group)
        self._config = KubeletVolume(folder / "config", group)
        self._config_files: dict[str, tuple[bytes, int]] = {}
        self._changed_at: float | None = None

    def __enter__(self) -> Self:
        assert self._spec["mpiImplementation"] == "OpenMPI"
        assert not self._spec["runLauncherAsWorker"]
        try:
            self._podman("network", "create", self._name)
            self._write_secret()
            self._reconcile()
        except BaseException:
            self._podman.clear()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for pod in [*self.launchers, *self.workers]:
            pod.remove()
        self._podman("network", "rm", "--force", self._name)

    def scale(self, workers: int) -> None:
        """Change `Worker.replicas`, as `kubectl patch` does."""
        self._wanted = workers

    def annotate_launcher(self) -> None:
        """Change an annotation of the launcher's pod: the kubelet looks at it at once."""
        if self._changed_at is not None:
            self._sync_config()

    def log(self) -> str:
        """Return the output of all attempts of the launcher."""
        return "".join(launcher.log() for launcher in self.launchers)

    def wait(self, condition: Callable[[], bool], seconds: float) -> None:
        """Run the job until the condition is true.

        Raises:
            AssertionError: The job ended before, or the time is over.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.succeeded is None, f"the job has ended, succeeded: {self.succeeded}\n{self.log()}"
            assert time.monotonic() < deadline, f"still waiting after {seconds} s\n{self.log()}"
            self._reconcile()
            time.sleep(0.1)

    def run_to_the_end(self, seconds: float) -> bool:
        """Run the job until its launcher's Job has ended, and return whether it succeeded."""
        self.wait(lambda: self.succeeded is not None, seconds)
        return bool(self.succeeded)

    def _reconcile(self) -> None:
        """Do one round of the operator, the Job controller and the kubelet."""
        while len(self.workers) > self._wanted:
            self.workers.pop().remove()
        while len(self.workers) < min(self._wanted, self.room):
            self.workers.append(self._start_worker(len(self.workers)))
        if self._replica("Worker")["restartPolicy"] == "OnFailure":
            for worker in self.workers:
                # The kubelet only waits from the second restart.
                if worker.exit_code():
                    worker.start()
        self._write_config()
        self._reconcile_launcher()

    def _reconcile_launcher(self) -> None:
        assert self._replica("Launcher")["restartPolicy"] == "Never", "the emulated kubelet restarts no launcher"
        if not self.launchers:
            at_once = self._spec["launcherCreationPolicy"] == "AtStartup"
            if at_once or all(worker.ready() for worker in self.workers):
                self.launchers.append(self._start_launcher())
            return
        launcher, failures = self.launchers[-1], len(self.launchers)
        code = launcher.exit_code()
        if code is None:
            return
        if code == 0:
            self._end(succeeded=True)
        elif failures > self._spec["runPolicy"]["backoffLimit"]:
            self._end(succeeded=False)
        elif launcher.seconds_since_end() > FIRST_BACKOFF_SECONDS * 2 ** (failures - 1):
            self.launchers.append(self._start_launcher())

    def _end(self, *, succeeded: bool) -> None:
        self.succeeded = succeeded
        if self._spec["runPolicy"]["cleanPodPolicy"] in ("Running", "All"):
            while self.workers:
                self.workers.pop().remove()

    def _start_worker(self, index: int) -> Pod:
        return self._start("Worker", f"{self._name}-worker-{index}", {"K_MPI_JOB_ROLE": "worker"}, {})

    def _start_launcher(self) -> Pod:
        environment = {
            "K_MPI_JOB_ROLE": "launcher",
            "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
            "OMPI_MCA_orte_default_hostfile": f"{CONFIG_PATH}/hostfile",
            "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
            "OMPI_MCA_orte_set_default_slots": str(self._spec["slotsPerWorker"]),
            "NVIDIA_VISIBLE_DEVICES": "",
            "NVIDIA_DRIVER_CAPABILITIES": "",
        }
        name = f"{self._name}-launcher-{len(self.launchers) + 1}"
        self._sync_config()
        return self._start("Launcher", name, environment, {CONFIG_PATH: (self._config.folder, "ro")})

    def _start(
        self, role: str, pod: str, environment: Mapping[str, str], mounts: Mapping[str, tuple[Path, str]]
    ) -> Pod:
        """Start a pod with the settings that the operator adds to its template."""
        spec = copy.deepcopy(self._replica(role)["template"]["spec"])
        container = spec["containers"][0]
        # The operator's variables are last and override the others.
        container["env"] = [*container.get("env", []), *({"name": k, "value": v} for k, v in environment.items())]
        spec["hostname"] = f"{self._name}-launcher" if role == "Launcher" else pod
        secret = {self._spec["sshAuthMountPath"]: (self._secret.folder, "ro")}
        pod_spec = PodSpec(
            name=pod,
            spec=spec,
            dns_names=[spec["hostname"], f"{spec['hostname']}.{self._service}"],
            dns_searches=[f"{self._service}.cluster.local"],
            mounts={**self._claim_mounts(spec, container), **mounts, **secret, **self.further_mounts.get(pod, {})},
            termination_log=self._folder / f"{pod}.termination-log",
        )
        return Pod(self._podman, self._name, pod_spec, self._folder)

    def _claim_mounts(self, spec: dict[str, Any], container: dict[str, Any]) -> dict[str, tuple[Path, str]]:
        volumes = {volume["name"]: volume.get("persistentVolumeClaim") for volume in spec.get("volumes", [])}
        mounts = container.get("volumeMounts", [])
        return {
            mount["mountPath"]: (self._claims[claim["claimName"]], "rw")
            for mount in mounts
            if (claim := volumes[mount["name"]])
        }

    def _replica(self, role: str) -> dict[str, Any]:
        return dict(self._spec["mpiReplicaSpecs"][role])

    @property
    def _service(self) -> str:
        """Return the domain of the headless Service."""
        return f"{self._name}.{self._namespace}.svc"

    def _write_secret(self) -> None:
        """Write an ECDSA key on P-521, which is the key of the jobs' user and of its sshd."""
        keys = self._folder / "keys"
        keys.mkdir()
        image = self._replica("Worker")["template"]["spec"]["containers"][0]["image"]
        words = ("-q", "-t", "ecdsa", "-b", "521", "-m", "PEM", "-N", "", "-C", "", "-f", "/keys/key")
        self._podman(
            "run", "--rm", "--user", "0", "--volume", f"{keys}:/keys", "--entrypoint", "ssh-keygen", image, *words
        )
        private, public = ((keys / name).read_bytes() for name in ("key", "key.pub"))
        # Only in the home of root the operator sets a mode; elsewhere a Secret's files have Kubernetes' default.
        mode = 0o600 if self._spec["sshAuthMountPath"] == ROOT_SSH_PATH else 0o644
        files = {"id_rsa": private, "id_rsa.pub": public, "authorized_keys": public}
        self._secret.write({name: (content, mode) for name, content in files.items()})

    def _write_config(self) -> None:
        """Write the hostfile with the wanted workers, and the discovery script with the running ones, without slots."""
        slots = self._spec["slotsPerWorker"]
        wanted = [f"{self._name}-worker-{index}.{self._service} slots={slots}\n" for index in range(self._wanted)]
        running = sorted(worker.name for worker in self.workers if worker.exit_code() is None)
        script = ["#!/bin/sh\n", *(f"echo {name}.{self._service}\n" for name in running)]
        files = {
            "hostfile": ("".join(wanted).encode(), 0o444),
            "discover_hosts.sh": ("".join(script).encode(), 0o555),
        }
        self.config_map = "".join(script)
        if files != self._config_files:
            self._config_files = files
            self._changed_at = time.monotonic()
        if self._changed_at is not None and time.monotonic() - self._changed_at > POD_SYNC_SECONDS:
            self._sync_config()

    def _sync_config(self) -> None:
        """Write the mounted files, as the kubelet does."""
        self._config.write(self._config_files)
        self._changed_at = None
