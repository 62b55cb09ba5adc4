"""What the rules of `lint.rules.queue_rules` find, and what they accept."""

from typing import Any

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "queue-label-misplaced": [
        (
            {"metadata annotations": {"kueue.x-k8s.io/priority-class": "high"}},
            "metadata annotations kueue.x-k8s.io/priority-class",
            "is not on the job itself, and Kueue does not read it here; move it to metadata.labels of the MPIJob",
        ),
        (
            {"WORKER template metadata": {"labels": {"kueue.x-k8s.io/queue-name": "a"}}},
            "WORKER template metadata labels kueue.x-k8s.io/queue-name",
            "is not on the job itself, and Kueue does not read it here; move it to metadata.labels of the MPIJob",
        ),
        (
            {
                "metadata labels": {"kueue.x-k8s.io/queue-name": "a"},
                "LAUNCHER template metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}},
            },
            "LAUNCHER template metadata labels kueue.x-k8s.io/priority-class",
            "is not on the job itself, and Kueue does not read it here; move it to metadata.labels of the MPIJob",
        ),
    ],
    "unknown-queue-label": [
        (
            {"metadata labels": {"kueue.x-k8s.io/queuename": "a"}},
            "metadata labels kueue.x-k8s.io/queuename",
            "is no label of Kueue; write kueue.x-k8s.io/queue-name",
        ),
        (
            {"metadata labels": {"kueue.x-k8s.io/priority": "a"}},
            "metadata labels kueue.x-k8s.io/priority",
            "is no label of Kueue; write kueue.x-k8s.io/priority-class",
        ),
        (
            {"metadata labels": {"kueue.sigs.k8s.io/queue-name": "a"}},
            "metadata labels kueue.sigs.k8s.io/queue-name",
            "is no label of Kueue; write kueue.x-k8s.io/queue-name",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "queue-label-misplaced": [
        {"metadata annotations": {"kueue.x-k8s.io/queue-name": "a"}},
        {
            "metadata labels": {"kueue.x-k8s.io/queue-name": "a"},
            "WORKER template metadata": {"labels": {"kueue.x-k8s.io/queue-name": "a"}},
        },
    ],
    "unknown-queue-label": [
        {"metadata labels": {"kueue.x-k8s.io/queue-name": "a", "kueue.x-k8s.io/priority-class": "b"}},
        {"metadata labels": {"kueue.x-k8s.io/max-exec-time-seconds": "60"}},
        {"metadata labels": {"volcano.sh/queue-name": "a", "queue-name": "b"}},
    ],
}
