"""What the rules of `lint.rules.launch_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import BIND, ELASTIC, GONE, HOSTS, both, launched, ranks, script

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "np-exceeds-slots": [
        (
            ranks(17),
            "LAUNCHER-CONTAINER command",
            "is for 17 ranks, but 2 x 8 are 16 slots, and mpirun does not start; write -np 16, or set "
            "slotsPerWorker to the GPUs of a worker",
        ),
        (
            # Behind a program that starts it.
            launched("python", "-m", "judge", "--", "mpirun", "-np", "17", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "is for 17 ranks, but 2 x 8 are 16 slots, and mpirun does not start; write -np 16, or set "
            "slotsPerWorker to the GPUs of a worker",
        ),
        (
            {"spec slotsPerWorker": GONE},
            "LAUNCHER-CONTAINER command",
            "is for 16 ranks, but 2 x 1 are 2 slots, and mpirun does not start; write -np 2, or set slotsPerWorker"
            " to the GPUs of a worker",
        ),
        (
            script("mpirun -n 32 --hostfile /etc/mpi/hostfile train"),
            "LAUNCHER-CONTAINER command",
            "is for 32 ranks, but 2 x 8 are 16 slots, and mpirun does not start; write -np 16, or set "
            "slotsPerWorker to the GPUs of a worker",
        ),
    ],
    "np-leaves-slots-idle": [
        (
            ranks(8),
            "LAUNCHER-CONTAINER command",
            "starts 8 ranks, but 2 x 8 are 16 slots; 8 stay idle; write -np 16, or fewer workers or slots",
        ),
        (
            {"spec runLauncherAsWorker": True},
            "LAUNCHER-CONTAINER command",
            "starts 16 ranks, but 3 x 8 are 24 slots; 8 stay idle; write -np 24, or fewer workers or slots",
        ),
    ],
    "elastic-range": [
        (
            launched("horovodrun", "-np", "4", "--min-np", "8", "--max-np", "32", "train"),
            "LAUNCHER-CONTAINER command",
            "has min-np 8, np 4, max-np 32, which do not rise; give min-np <= np <= max-np",
        ),
        (
            launched("horovodrun", "-np", "40", "--max-np", "32", "train"),
            "LAUNCHER-CONTAINER command",
            "has np 40, max-np 32, which do not rise; give min-np <= np <= max-np",
        ),
        (
            launched("horovodrun", "--min-np", "8", "--max-np", "4", "train"),
            "LAUNCHER-CONTAINER command",
            "has min-np 8, max-np 4, which do not rise; give min-np <= np <= max-np",
        ),
    ],
    "elastic-without-slots": [
        (
            launched("horovodrun", "-np", "16", "--host-discovery-script=/etc/mpi/discover_hosts.sh", "train"),
            "LAUNCHER-CONTAINER command",
            "takes its hosts from /etc/mpi/discover_hosts.sh, which prints no slots, and has no --slots-per-host; add "
            "--slots-per-host 8",
        ),
        (
            launched("horovodrun", "-np", "16", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"),
            "LAUNCHER-CONTAINER command",
            "takes its hosts from /etc/mpi/discover_hosts.sh, which prints no slots, and has no --slots-per-host; add "
            "--slots-per-host 8",
        ),
    ],
    "missing-hostfile": [
        (
            launched("mpirun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "has no hostfile, and mpirun of Open MPI 5 then starts all ranks in the launcher; add --hostfile "
            "/etc/mpi/hostfile, which every version reads",
        ),
        (
            {"LAUNCHER-CONTAINER command": ["sh", "-c"], "LAUNCHER-CONTAINER args": ["mpirun train"]},
            "LAUNCHER-CONTAINER args",
            "has no hostfile, and mpirun of Open MPI 5 then starts all ranks in the launcher; add --hostfile "
            "/etc/mpi/hostfile, which every version reads",
        ),
        (
            launched("horovodrun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "has no hostfile, and horovodrun then starts all ranks in the launcher; add --hostfile "
            "/etc/mpi/hostfile, which every version reads",
        ),
        (
            script("mpiexec -n 16 train"),
            "LAUNCHER-CONTAINER command",
            "has no hostfile, and mpiexec of Open MPI 5 then starts all ranks in the launcher; add --hostfile "
            "/etc/mpi/hostfile, which every version reads",
        ),
    ],
    "ranks-bound-to-one-core": [
        (
            {**launched("mpirun", "-np", "2", *HOSTS, "train"), "spec slotsPerWorker": 1, **both("nvidia.com/gpu", 1)},
            "LAUNCHER-CONTAINER command",
            "mpirun starts 2 ranks without --bind-to, and binds each to one core; add --bind-to none, or "
            "--bind-to socket for several ranks on each socket",
        ),
        (
            {**launched("mpirun", *HOSTS, "train"), "spec slotsPerWorker": 1},
            "LAUNCHER-CONTAINER command",
            "mpirun starts 2 ranks without --bind-to, and binds each to one core; add --bind-to none, or "
            "--bind-to socket for several ranks on each socket",
        ),
    ],
    "single-process": [
        (
            launched("python", "train.py"),
            "LAUNCHER-CONTAINER command",
            "starts python in the launcher, and nothing on the workers; start the program with mpirun or horovodrun",
        ),
        (
            launched("sleep", "infinity"),
            "LAUNCHER-CONTAINER command",
            "starts sleep in the launcher, and nothing on the workers; start the program with mpirun or horovodrun",
        ),
        (
            script("sleep 10; torchrun train.py"),
            "LAUNCHER-CONTAINER command",
            "starts sleep and torchrun in the launcher, and nothing on the workers; start the program with "
            "mpirun or horovodrun",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "np-exceeds-slots": [
        ranks(16),
        {"spec runLauncherAsWorker": True, **ranks(24)},
        launched("mpirun", "-np", "32", "--host", "a:16,b:16", *BIND, "train"),
        launched("mpirun", "-np", "32", "--hostfile", "/data/hosts", *BIND, "train"),
        ranks(32, "--oversubscribe"),
        ranks(32, "--map-by", ":OVERSUBSCRIBE"),
        {**ranks(32), "LAUNCHER-CONTAINER env": [{"name": "OMPI_MCA_rmaps_base_oversubscribe", "value": "1"}]},
        launched(*ELASTIC[:2], "32", *ELASTIC[3:]),
        {**ranks(17), "spec mpiImplementation": "Intel"},
        ranks("$NP"),
        ranks("$((2*8))"),
        {**ranks(17), "WORKER replicas": "$N"},
        launched("mpirun", "-np", "16", "a", ":", "-np", "4", "b"),
    ],
    "np-leaves-slots-idle": [
        ranks(16),
        script("mpirun -np 2 --hostfile h hostname && mpirun -np 16 --hostfile h train"),
        ranks(2, "-N", "1"),
        ranks(2, "-npernode", "1"),
    ],
    "elastic-range": [
        launched(*ELASTIC),
        launched("horovodrun", "-np", "16", "train"),
    ],
    "elastic-without-slots": [
        launched(*ELASTIC),
        launched("horovodrun", "-np", "16", "--host-discovery-script", "/my/hosts.sh", "train"),
        launched(
            "horovodrun", "--config-file", "/h.yaml", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"
        ),
        launched("horovodrun", "-np", "16", "--host-discovery-script=/etc/mpi/discover_hosts.sh", "--slots=8", "train"),
    ],
    "missing-hostfile": [
        launched("mpirun", "-np", "16", "-hostfile", "/h", "train"),
        launched("mpirun", "-H", "a,b", "train"),
        launched("mpirun", "--prtemca", "prte_default_hostfile", "/h", "train"),
        {
            **launched("mpirun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER env": [{"name": "PRTE_MCA_prte_default_hostfile", "value": "/h"}],
        },
        launched(*ELASTIC),
        {**launched("mpirun", "-np", "16", "train"), "spec mpiImplementation": "MPICH"},
        script("export PRTE_MCA_prte_default_hostfile=/h; mpirun train"),
        launched("horovodrun", "--config-file", "/h.yaml", "train"),
        script("mpirun $FLAGS train"),
        script("mpirun -np 16 $(cat flags) train"),
    ],
    "ranks-bound-to-one-core": [
        launched("mpirun", "-np", "16", *HOSTS, "train"),
        {**launched("mpirun", "-np", "2", *HOSTS, *BIND, "train")},
        launched("mpirun", "-np", "2", "--mca", "hwloc_base_binding_policy", "none", *HOSTS, "train"),
        {**launched("mpirun", "-np", "2", "train"), **both("nvidia.com/gpu", GONE)},
        launched("horovodrun", "-np", "2", "train"),
        {**launched("mpirun", "-N", "8", *HOSTS, "train"), "spec slotsPerWorker": 1},
        {**launched("mpirun", "-np", "$N", *HOSTS, "train"), "spec slotsPerWorker": 1},
    ],
    "single-process": [
        launched("python", "-m", "horovod_driver"),
        launched("/start"),
        script("./start.sh"),
        {"LAUNCHER-CONTAINER command": GONE},
        script("source env; run"),
    ],
}
