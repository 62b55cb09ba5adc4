"""A job without findings, and ways to break it."""

import json
from functools import cache
from typing import Any

import yaml

GONE = object()

# Short names of the places that tests change most.
PLACES = {
    "LAUNCHER": "spec mpiReplicaSpecs Launcher",
    "LAUNCHER-POD": "spec mpiReplicaSpecs Launcher template spec",
    "LAUNCHER-CONTAINER": "spec mpiReplicaSpecs Launcher template spec containers 0",
    "WORKER": "spec mpiReplicaSpecs Worker",
    "WORKER-POD": "spec mpiReplicaSpecs Worker template spec",
    "WORKER-CONTAINER": "spec mpiReplicaSpecs Worker template spec containers 0",
}

JOB = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: job
spec:
  slotsPerWorker: 8
  sshAuthMountPath: /home/mpiuser/.ssh
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy:
    cleanPodPolicy: Running
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: launcher
              image: image:1
              command: [mpirun, -np, "16", --hostfile, /etc/mpi/hostfile, --bind-to, none, -x, FI_PROVIDER, train]
              env:
                - name: FI_PROVIDER
                  value: efa
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          nodeSelector:
            node.kubernetes.io/instance-type: p4d.24xlarge
          tolerations:
            - key: nvidia.com/gpu
              operator: Exists
          containers:
            - name: worker
              image: image:1
              command: [/usr/sbin/sshd, -De]
              readinessProbe:
                tcpSocket:
                  port: 22
              resources:
                requests: &amounts
                  cpu: 90
                  memory: 900Gi
                  nvidia.com/gpu: 8
                  vpc.amazonaws.com/efa: 4
                  hugepages-2Mi: 5120Mi
                limits: *amounts
              volumeMounts:
                - name: shm
                  mountPath: /dev/shm
          volumes:
            - name: shm
              emptyDir:
                medium: Memory
"""


def changed(changes: dict[str, Any], document: str = JOB) -> dict[str, Any]:
    """Return the document with other values at some places; GONE removes a value."""
    changed = json.loads(_read(document))
    for place, value in changes.items():
        keys = path_of(place)
        at = changed
        for key in keys[:-1]:
            at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
        if value is GONE:
            del at[keys[-1]]
        elif isinstance(at, list) and keys[-1] == len(at):
            at.append(value)
        else:
            at[keys[-1]] = value
    return dict(changed)


@cache
def _read(document: str) -> str:
    """Return the document as JSON, which has no aliases."""
    return json.dumps(yaml.safe_load(document))


#: Arguments of a right mpirun.
HOSTS = ("--hostfile", "/etc/mpi/hostfile")
BIND = ("--bind-to", "none")
EXPORT = ("-x", "FI_PROVIDER")

ELASTIC = (
    *("horovodrun", "-np", "16", "--min-np", "8", "--max-np", "32"),
    *("--host-discovery-script", "/etc/mpi/discover_hosts.sh", "--slots-per-host", "8", "train"),
)


def launched(*words: str) -> dict[str, Any]:
    """The launcher runs these words."""
    return {"LAUNCHER-CONTAINER command": list(words)}


def script(text: str) -> dict[str, Any]:
    """The launcher runs a shell script."""
    return launched("bash", "-c", text)


def ranks(number: object, *options: str) -> dict[str, Any]:
    """The launcher runs the right mpirun with another number of ranks, and further options."""
    return launched("mpirun", "-np", str(number), *HOSTS, *BIND, *EXPORT, *options, "train")


def both(resource: str, amount: object) -> dict[str, Any]:
    """The worker's request and limit."""
    resources = "WORKER-CONTAINER resources"
    return {f"{resources} requests {resource}": amount, f"{resources} limits {resource}": amount}


def variables(role: str, **values: str) -> dict[str, Any]:
    """The variables of a role's container."""
    return {f"{role}-CONTAINER env": [{"name": name, "value": value} for name, value in values.items()]}


def instance_type(name: str) -> dict[str, Any]:
    """The instance type of the workers."""
    return {"WORKER-POD nodeSelector": {"node.kubernetes.io/instance-type": name}}


WITHOUT_EFA = {**both("vpc.amazonaws.com/efa", GONE), **both("hugepages-2Mi", GONE)}
WITHOUT_PROVIDER = {**launched("mpirun", "-np", "16", *HOSTS, *BIND, "train"), "LAUNCHER-CONTAINER env": GONE}


def path_of(place: str) -> tuple[str | int, ...]:
    """The path of a place in a test's short form."""
    first, *others = place.split()
    return tuple(int(key) if key.isdigit() else key for key in [*PLACES.get(first, first).split(), *others])
