"""The MPIJob as a construct that the lint has checked, alone or with the policy that keeps other pods from it."""

from typing import ClassVar, Generic, Protocol, TypeVar

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.jobs.pod_template import check_kind
from training_workloads.mpijob.spec import API_VERSION, JOB_NAME_LABEL, KIND, MpiJobSpec
from training_workloads.validation import InputError, Problem

__all__ = ["IsolatedMpiJob", "JobNetworkPolicy", "MpiJob", "MpiJobSource"]


class MpiJob(cdk8s.ApiObject):
    """An MPIJob in a chart.

    Attributes:
        spec: What it was made from.
        warnings: The lint's warnings as text; docs/lint.md explains each.
    """

    def __init__(self, scope: Construct, id: str, *, spec: MpiJobSpec) -> None:
        """Define the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.

        Raises:
            InputError: The lint finds an error: the job would not work.
        """
        metadata = cdk8s.ApiObjectMetadata(name=spec.name, namespace=spec.namespace, labels=spec.labels or None)
        super().__init__(scope, id, api_version=API_VERSION, kind=KIND, metadata=metadata)
        self.spec = spec
        self.warnings = _lint(spec)
        self.add_json_patch(cdk8s.JsonPatch.add("/spec", spec.to_wire()))


def _lint(spec: MpiJobSpec) -> list[str]:
    """Return the lint's warnings."""
    # Imported here because the schemas take half a second, which an app without jobs need not wait for.
    from training_workloads.lint import lint_manifest

    metadata = {"name": spec.name}
    findings = lint_manifest({"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec.to_wire()})
    if errors := [finding for finding in findings if finding.level == "error"]:
        raise InputError(*(_problem(finding.where, f"{finding}") for finding in errors))
    return [str(finding) for finding in findings]
