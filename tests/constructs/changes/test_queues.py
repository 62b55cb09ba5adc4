"""A queue that goes is named: its jobs stay suspended."""

from typing import Any

from tests.constructs.changes.test_findings import RESUMED, Cluster, findings, manifest, resource

QUEUE = {"kind": "LocalQueue", "metadata": {"name": "training", "namespace": "vision"}}


def test_the_queue_of_a_team_that_goes_has_its_jobs() -> None:
    (found,) = findings({"Team": manifest(QUEUE)}, {}, Cluster(jobs=RESUMED))
    assert (found.outcome, found.subject, found.jobs) == ("stops", "LocalQueue 'training' in vision", RESUMED.all)
    assert found.remedy == "let its jobs end first; 'kubectl get workloads -n vision' lists them"
    assert "jobs that wait in it stay suspended" in found.effect


def test_a_queue_that_stays_or_goes_with_kueue_is_no_finding() -> None:
    kueue: dict[str, Any] = {"Kueue": resource("Custom::AWSCDK-EKS-HelmChart", Release="kueue")}
    assert findings({"Team": manifest(QUEUE)}, {"Team": manifest(QUEUE, DeletionPolicy="Retain")}) == []
    assert [each.outcome for each in findings({"Team": manifest(QUEUE), **kueue}, {})] == ["lost"]
    assert findings({"Team": manifest(QUEUE, DeletionPolicy="Retain")}, {}) == []
