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
    "many-retries": [
        (
            {"spec runPolicy backoffLimit": 1000},
            "spec runPolicy backoffLimit",
            "is 1000: a program that always fails holds the GPUs for 100 hours of retries; give as many as "
            "there may be lost nodes, such as 6",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "deadline-is-zero": [
        {"spec runPolicy activeDeadlineSeconds": 86400},
    ],
    "many-retries": [
        {"spec runPolicy backoffLimit": 100},
        {"spec runPolicy backoffLimit": 1000, **both("nvidia.com/gpu", GONE)},
    ],
}
