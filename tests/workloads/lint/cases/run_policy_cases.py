"""What the rules of `lint.rules.run_policy_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, both

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "deadline-is-zero": [
        (
            {"spec runPolicy activeDeadlineSeconds": 0},
            "spec runPolicy activeDeadlineSeconds",
            "is 0, and the launcher is ended at once; remove it, or give the longest time",
        ),
    ],
    "short-deadline": [
        (
            {"spec runPolicy activeDeadlineSeconds": 60},
            "spec runPolicy activeDeadlineSeconds",
            "is 60, less than the start of a GPU node and its image may take; give 300 or more",
        ),
    ],
    "logs-deleted-at-once": [
        (
            {"spec runPolicy ttlSecondsAfterFinished": 0},
            "spec runPolicy ttlSecondsAfterFinished",
            "is 0: the launcher's pod and its log are deleted as soon as it has ended; give a day: 86400",
        ),
    ],
    "many-retries": [
        (
            {"spec runPolicy backoffLimit": 1000},
            "spec runPolicy backoffLimit",
            "is 1000: a program that always fails holds the GPUs for 100 hours of retries; give as many as "
            "there may be lost nodes, such as 6",
        ),
    ],
    "suspended-without-queue": [
        (
            {"spec runPolicy suspend": True},
            "spec runPolicy suspend",
            "is true, and the job has no label kueue.x-k8s.io/queue-name: it waits until it is set to false "
            "by hand; remove it, or add the label",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "deadline-is-zero": [
        {"spec runPolicy activeDeadlineSeconds": 86400},
    ],
    "short-deadline": [
        {"spec runPolicy activeDeadlineSeconds": 300},
        {"spec runPolicy activeDeadlineSeconds": 60, **both("nvidia.com/gpu", GONE)},
    ],
    "logs-deleted-at-once": [
        {"spec runPolicy ttlSecondsAfterFinished": 60},
        {"spec runPolicy ttlSecondsAfterFinished": "$TTL"},
    ],
    "many-retries": [
        {"spec runPolicy backoffLimit": 100},
        {"spec runPolicy backoffLimit": 1000, **both("nvidia.com/gpu", GONE)},
    ],
    "suspended-without-queue": [
        {"spec runPolicy suspend": True, "metadata labels": {"kueue.x-k8s.io/queue-name": "a"}},
        {"spec runPolicy suspend": False},
    ],
}
