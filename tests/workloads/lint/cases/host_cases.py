"""What the rules of `lint.rules.host_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import ELASTIC, launched, ranks, script

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "missing-hostfile": [
        (
            launched("horovodrun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "has no hostfile, and horovodrun then starts all ranks in the launcher; add --hostfile "
            "/etc/mpi/hostfile, which every version reads",
        ),
        (
            launched("/opt/amazon/openmpi5/bin/mpirun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "has no hostfile, and mpirun of Open MPI 5 then starts all ranks in the launcher; add --hostfile"
            " /etc/mpi/hostfile, which every version reads",
        ),
        (
            {**script("mpirun -np 16 train"), "LAUNCHER-CONTAINER image": "horovod:0.28.1-openmpi-5.0.11"},
            "LAUNCHER-CONTAINER command",
            "has no hostfile, and mpirun of Open MPI 5 then starts all ranks in the launcher; add --hostfile"
            " /etc/mpi/hostfile, which every version reads",
        ),
        (
            launched("prterun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "has no hostfile, and prterun of Open MPI 5 then starts all ranks in the launcher; add "
            "--hostfile /etc/mpi/hostfile, which every version reads",
        ),
    ],
    "hostfile-not-there": [
        (
            launched("mpirun", "-np", "16", "--hostfile", "/etc/mpi/hostfiles", "train"),
            "LAUNCHER-CONTAINER command",
            "has --hostfile /etc/mpi/hostfiles, which does not exist; write /etc/mpi/hostfile",
        ),
        (
            launched("mpirun", "-np", "16", "--hostfile", "/kubeflow/hostfile", "train"),
            "LAUNCHER-CONTAINER command",
            "has --hostfile /kubeflow/hostfile, which does not exist; write /etc/mpi/hostfile",
        ),
        (
            launched(
                "horovodrun", "-np", "16", "--host-discovery-script", "/etc/mpi/discover.sh", "--slots", "8", "train"
            ),
            "LAUNCHER-CONTAINER command",
            "has --host-discovery-script /etc/mpi/discover.sh, which does not exist; write /etc/mpi/discover_hosts.sh",
        ),
        (
            script("mpirun -np 16 --hostfile /job/hostfile train"),
            "LAUNCHER-CONTAINER command",
            "has --hostfile /job/hostfile, which does not exist; write /etc/mpi/hostfile",
        ),
    ],
    "hosts-of-another-job": [
        (
            launched("mpirun", "-np", "16", "-H", "job-worker-0:8", "train"),
            "LAUNCHER-CONTAINER command",
            "is for 16 ranks, but its hosts have 8 slots; give each host as many slots as a worker has GPUs",
        ),
        (
            launched("mpirun", "-np", "16", "-H", "other-worker-0:8,job-worker-1:8", "train"),
            "LAUNCHER-CONTAINER command",
            "has other-worker-0, a worker of job 'other'; write job-worker-0 and so on, or --hostfile "
            "/etc/mpi/hostfile",
        ),
        (
            launched("mpirun", "-np", "16", "--host", "job-worker-1.job:8,job-worker-2.job:8", "train"),
            "LAUNCHER-CONTAINER command",
            "has job-worker-2, but the workers are 0 to 1; write --hostfile /etc/mpi/hostfile",
        ),
        (
            launched("horovodrun", "-np", "16", "-H", "localhost:16", "train"),
            "LAUNCHER-CONTAINER command",
            "has localhost as its only host: all ranks run in the launcher; write --hostfile /etc/mpi/hostfile",
        ),
    ],
    "other-mpi-implementation": [
        (
            {"spec mpiImplementation": "Intel", **ranks(16)},
            "spec mpiImplementation",
            "is Intel, but mpirun has options of Open MPI, which reads another hostfile; write OpenMPI",
        ),
        (
            launched("mpirun", "-ppn", "8", "-np", "16", "train"),
            "spec mpiImplementation",
            "is missing, and its default is OpenMPI, but -ppn is of Intel MPI and MPICH; write Intel or MPICH",
        ),
        (
            {"spec mpiImplementation": "OpenMPI", **launched("mpiexec.hydra", "-n", "16", "train")},
            "spec mpiImplementation",
            "is OpenMPI, but mpiexec.hydra is of Intel MPI and MPICH; write Intel or MPICH",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "missing-hostfile": [
        launched("mpirun", "-np", "16", "train"),
        launched("/opt/amazon/openmpi/bin/mpirun", "-np", "16", "train"),
        launched("prterun", "-np", "16", "-hostfile", "/h", "train"),
        launched("prterun", "-H", "a,b", "train"),
        launched("mpirun", "--prtemca", "prte_default_hostfile", "/h", "train"),
        {
            **launched("prterun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER env": [{"name": "PRTE_MCA_prte_default_hostfile", "value": "/h"}],
        },
        launched(*ELASTIC),
        {**launched("/opt/openmpi-5.0.3/bin/mpirun", "-np", "16", "train"), "spec mpiImplementation": "MPICH"},
        script("export PRTE_MCA_prte_default_hostfile=/h; prterun train"),
        launched("horovodrun", "--config-file", "/h.yaml", "train"),
        script("prterun $FLAGS train"),
        script("prterun -np 16 $(cat flags) train"),
    ],
    "hostfile-not-there": [
        launched("mpirun", "-np", "16", "--hostfile", "/path/to/hostfile", "train"),
        script("sort /etc/mpi/hostfile > /tmp/hosts; mpirun --hostfile /tmp/hosts train"),
        {
            **launched("mpirun", "--hostfile", "/data/hosts", "train"),
            "LAUNCHER-CONTAINER volumeMounts": [{"name": "a", "mountPath": "/data"}],
        },
        {
            **launched("mpirun", "--hostfile", "/data/hosts", "train"),
            "LAUNCHER-POD initContainers": [{"name": "a", "image": "i"}],
        },
        launched("mpirun", "--hostfile", "$HOSTFILE", "train"),
        launched("mpirun", "--hostfile", "hosts", "train"),
    ],
    "hosts-of-another-job": [
        launched("mpirun", "-np", "16", "-H", "job-worker-0.job:8,job-worker-1.job:8", "train"),
        launched("mpirun", "-np", "16", "-H", "$HOSTS", "train"),
        launched("mpirun", "-np", "16", "--oversubscribe", "-H", "job-worker-0:4,job-worker-1:4", "train"),
        launched("mpirun", "-np", "16", "-H", "10.0.0.1:8,10.0.0.2:8", "train"),
        {**launched("mpirun", "-H", "gpt-worker-0", "train"), "metadata": {"generateName": "gpt-"}},
    ],
    "other-mpi-implementation": [
        {"spec mpiImplementation": "Intel", **launched("mpirun", "-ppn", "8", "-genv", "A", "1", "-n", "16", "train")},
        {"spec mpiImplementation": "MPICH", **launched("horovodrun", "-np", "16", "-H", "a", "train")},
    ],
}
