"""What the rules of `lint.rules.binding_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import BIND, GONE, HOSTS, both, launched, ranks

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "unknown-policy": [
        (
            ranks(16, "--map-by", "ppr:node:8"),
            "LAUNCHER-CONTAINER command",
            "has --map-by ppr:node:8, which has another order; write ppr:<number>:<node or socket>",
        ),
        (
            launched("mpirun", "-np", "16", *HOSTS, "--bind-to", "gpu", "train"),
            "LAUNCHER-CONTAINER command",
            "has --bind-to gpu; give one of none, hwthread, core, l1cache, l2cache, l3cache, numa, socket, "
            "package, board, node, cpu-list, cpulist",
        ),
        (
            ranks(16, "--map-by", "gpu"),
            "LAUNCHER-CONTAINER command",
            "has --map-by gpu; give one of slot, hwthread, core, l1cache, l2cache, l3cache, numa, socket, "
            "package, board, node, ppr, seq, dist, rankfile, pe-list, mindist, minload, likwid",
        ),
    ],
    "ranks-per-socket-exceed-slots": [
        (
            ranks(16, "--map-by", "ppr:8:socket"),
            "LAUNCHER-CONTAINER command",
            "maps 8 ranks to each of 2 sockets, but a worker has 8 slots; write --map-by ppr:8:node",
        ),
    ],
    "ranks-bound-to-one-core": [
        (
            launched("mpirun", "-np", "16", *HOSTS, "--bind-to", "core", "train"),
            "LAUNCHER-CONTAINER command",
            "has --bind-to core: each rank has one core, its input pipeline included; write --bind-to none, "
            "or --bind-to socket for several ranks on each socket",
        ),
        (
            launched("mpirun", "-np", "16", *HOSTS, "--bind-to", "hwthread", "train"),
            "LAUNCHER-CONTAINER command",
            "has --bind-to hwthread: each rank has one core, its input pipeline included; write --bind-to "
            "none, or --bind-to socket for several ranks on each socket",
        ),
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
    "ranks-bound-to-far-sockets": [
        (
            launched("/opt/openmpi-5.0/bin/mpirun", "-np", "16", *HOSTS, "train"),
            "LAUNCHER-CONTAINER command",
            "has no --bind-to: Open MPI binds ranks to sockets or cores without regard to their GPU; add "
            "--bind-to none",
        ),
        (
            launched("/opt/openmpi-5.0/bin/mpirun", "-np", "16", *HOSTS, "--map-by", "ppr:8:node", "train"),
            "LAUNCHER-CONTAINER command",
            "has no --bind-to: Open MPI binds ranks to sockets or cores without regard to their GPU; add "
            "--bind-to none",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "unknown-policy": [
        ranks(16, "--map-by", "ppr:8:node:PE=4"),
        ranks(16, "--map-by", "slot:PE=12"),
        ranks(16, "--rank-by", "slot"),
        ranks(16, "--map-by", "$POLICY"),
        ranks(16, "--map-by", ":OVERSUBSCRIBE"),
        ranks(16, "--map-by", "Socket"),
    ],
    "ranks-per-socket-exceed-slots": [
        ranks(16, "--map-by", "ppr:4:socket"),
        {**ranks(16, "--map-by", "ppr:8:socket"), "WORKER-POD nodeSelector": GONE},
        ranks(16, "--map-by", "ppr:8:socket", "--oversubscribe"),
        # All on the first socket of one node.
        ranks(8, "--map-by", "ppr:8:socket"),
    ],
    "ranks-bound-to-one-core": [
        launched("mpirun", "-np", "16", *HOSTS, "train"),
        launched("mpirun", "-np", "2", *HOSTS, *BIND, "train"),
        launched("mpirun", "-np", "2", "--mca", "hwloc_base_binding_policy", "none", *HOSTS, "train"),
        {**launched("mpirun", "-np", "2", "train"), **both("nvidia.com/gpu", GONE)},
        launched("horovodrun", "-np", "2", "train"),
        {**launched("mpirun", "-N", "8", *HOSTS, "train"), "spec slotsPerWorker": 1},
        {**launched("mpirun", "-np", "$N", *HOSTS, "train"), "spec slotsPerWorker": 1},
        launched("mpirun", "-np", "16", "--map-by", "slot:PE=12", "--bind-to", "core", "train"),
        launched("mpirun", "-np", "16", "--bind-to", "core", "all_reduce_perf"),
    ],
    "ranks-bound-to-far-sockets": [
        # Open MPI 4.1 takes the sockets in turn, and which version it is does not show.
        launched("mpirun", "-np", "16", *HOSTS, "train"),
        ranks(16),
        launched("/opt/openmpi-5.0/bin/mpirun", "-np", "16", *HOSTS, "--map-by", "ppr:4:socket", "train"),
        {**launched("/opt/openmpi-5.0/bin/mpirun", "-np", "16", *HOSTS, "train"), "WORKER-POD nodeSelector": GONE},
        launched("mpirun", "-np", "16", *HOSTS, "all_reduce_perf"),
        launched("/opt/openmpi-5.0/bin/mpirun", "-np", "2", *HOSTS, "torchrun", "train.py"),
        {
            **launched("/opt/openmpi-5.0/bin/mpirun", "-np", "16", *HOSTS, "train"),
            "LAUNCHER-CONTAINER env": [{"name": "OMPI_MCA_hwloc_base_binding_policy", "value": "none"}],
        },
    ],
}
