"""Print the words of a TorchElasticJob's containers, for the tests that run them with a real torchrun.

python -m tests.workloads.jobs.torch_job_words '{"workers": 2}' COMMAND…
"""

import json
import sys
from typing import Any

import cdk8s

from training_workloads import TorchElasticJob, TorchElasticJobSpec


def _container(document: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = document["spec"]["template"]["spec"]["containers"][0]
    return container


def main() -> None:
    """Print the words as JSON."""
    given, command = json.loads(sys.argv[1]), tuple(sys.argv[2:])
    chart = cdk8s.Testing.chart()
    spec = TorchElasticJobSpec(
        name="job",
        image="image:1",
        instance_type="g5.12xlarge",
        efa_interfaces=0,
        start_timeout_seconds=300,
        command=command,
        **given,
    )
    TorchElasticJob(chart, "Job", spec=spec)
    documents = cdk8s.Testing.synth(chart)
    worker = _container(next(each for each in documents if each["kind"] == "Job"))
    store = _container(next(each for each in documents if each["kind"] == "Deployment"))
    values = {each["name"]: each["value"] for each in worker["env"] if "value" in each}
    environment = {name: value for name, value in values.items() if not name.startswith("NCCL_")}
    print(json.dumps({"agent": worker["command"], "environment": environment, "store": store["command"]}))


if __name__ == "__main__":
    main()
