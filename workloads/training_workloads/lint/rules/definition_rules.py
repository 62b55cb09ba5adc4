"""Rules on what definitions of MPIJobs differ in: defaults of the pods' fields, and bounds.

https://github.com/kubeflow/mpi-operator/blob/v0.8.2/manifests/base/kubeflow.org_mpijobs.yaml
"""

import json
from collections.abc import Iterator

from training_workloads.lint.rule import Found, error, found_of, warning
from training_workloads.lint.sources import KUEUE
from training_workloads.mpijob.api import QUEUE_LABEL
from training_workloads.mpijob.pod_schema import SIZES, omitted_defaults, template_problems
from training_workloads.mpijob.view import MpiJobView


@warning(
    "Kueue compares the pods with those of its Workload, whose definition has the defaults of Kubernetes, and deletes "
    f"it every second where they differ (run: Kueue 0.19.2, operator 0.8.2) {KUEUE}"
)
def queued_job_omits_default(job: MpiJobView) -> Iterator[Found]:
    """A job in a queue that omits a field with a default, such as a port's protocol: an older definition has none."""
    if QUEUE_LABEL not in job.labels:
        return
    for replica in job.replicas:
        for path, default in omitted_defaults(replica.template, replica.template_path):
            written = default if isinstance(default, str) and default else json.dumps(default)
            problem = "is missing: on a cluster whose definition of MPIJobs has no defaults Kueue never starts the job"
            yield Found(path, problem, f"write {path[-1]}: {written}")


@error("The definition of this project rejects it: the operator holds the templates of all jobs in memory (derived)")
def pod_template_bounds(job: MpiJobView) -> Iterator[Found]:
    """A list or text in a pod's template that is longer than the definition of this project allows."""
    for replica in job.replicas:
        for problem in template_problems(replica.template, replica.template_path):
            if problem.keyword in SIZES:
                yield found_of(problem)
