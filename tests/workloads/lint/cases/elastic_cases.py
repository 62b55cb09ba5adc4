"""What the rules of `lint.rules.elastic_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import ELASTIC, GONE, both, launched

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "elastic-without-hosts": [
        (
            launched("horovodrun", "-np", "16", "--min-np", "8", "train"),
            "LAUNCHER-CONTAINER command",
            "has --min-np, but no script that prints the hosts, and horovodrun ends with a ValueError; add "
            "--host-discovery-script /etc/mpi/discover_hosts.sh",
        ),
    ],
    "elastic-waits-for-slots": [
        (
            launched(*ELASTIC[:2], "24", *ELASTIC[3:]),
            "LAUNCHER-CONTAINER command",
            "waits for 24 slots, but 2 x 8 are 16; write -np and --min-np of 16 or fewer, or more workers",
        ),
        (
            {**launched(*ELASTIC), "WORKER replicas": 1},
            "LAUNCHER-CONTAINER command",
            "waits for 16 slots, but 1 x 8 are 8; write -np and --min-np of 8 or fewer, or more workers",
        ),
    ],
    "elastic-slots-differ-from-gpus": [
        (
            launched(*ELASTIC[:-2], "4", "train"),
            "LAUNCHER-CONTAINER command",
            "has --slots-per-host 4, but each worker has 8 GPUs; write --slots-per-host 8, one rank for each GPU",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "elastic-without-hosts": [
        launched(*ELASTIC),
        launched("horovodrun", "-np", "16", "--min-np", "8", "-H", "a:8,b:8", "train"),
        launched("horovodrun", "-np", "16", "train"),
    ],
    "elastic-waits-for-slots": [
        launched(*ELASTIC),
        {**launched(*ELASTIC), "WORKER replicas": "$N"},
        # Too few slots for the GPUs are the mistake of another rule.
        launched(*ELASTIC[:-2], "4", "train"),
    ],
    "elastic-slots-differ-from-gpus": [
        launched(*ELASTIC),
        {**launched(*ELASTIC), **both("nvidia.com/gpu", GONE)},
    ],
}
