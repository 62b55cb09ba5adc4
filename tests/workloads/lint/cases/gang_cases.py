"""What the rules on gangs in `lint.rules.run_policy_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import ELASTIC, launched

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "gang-larger-than-job": [
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 16}},
            "spec runPolicy schedulingPolicy minAvailable",
            "is 16, but the job has 3 pods, the launcher included, and none of them starts; write minAvailable: 2",
        ),
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 4}, "spec launcherCreationPolicy": "AtStartup"},
            "spec runPolicy schedulingPolicy minAvailable",
            "is 4, but the job has 3 pods, the launcher included, and none of them starts; write minAvailable: 3",
        ),
    ],
    "gang-smaller-than-job": [
        (
            {"spec runPolicy schedulingPolicy": {"minAvailable": 1}},
            "spec runPolicy schedulingPolicy minAvailable",
            "is 1: 1 of 2 workers start and hold their nodes while the others wait for theirs; write minAvailable: 2",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "gang-larger-than-job": [
        {"spec runPolicy schedulingPolicy": {"minAvailable": 3}, "spec launcherCreationPolicy": "AtStartup"},
    ],
    "gang-smaller-than-job": [
        {"spec runPolicy schedulingPolicy": {"minAvailable": 2}},
        {"spec runPolicy schedulingPolicy": {"minAvailable": 0}},
        {"spec runPolicy schedulingPolicy": {"minAvailable": 1}, **launched(*ELASTIC)},
    ],
}
