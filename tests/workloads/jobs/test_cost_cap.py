import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tests.workloads.sagemaker import sagemaker_samples
from training.pods import launcher, torch_agent
from training_workloads import ElasticHorovodJobSpec, HorovodJobSpec, InputError, TorchElasticJobSpec
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.jobs import gpu_pods
from training_workloads.mpijob.programs import COST_LINE

Synthesize = Callable[[HorovodJobSpec], dict[str, Any]]


def job(**values: Any) -> HorovodJobSpec:
    given: dict[str, Any] = {"name": "job", "image": "image:1", "command": ("train",), "instance_type": "p4d.24xlarge"}
    return HorovodJobSpec(**{**given, "workers": 2, **values})


def words(spec: HorovodJobSpec) -> list[str]:
    template = spec.mpi_job.launcher.template
    found: list[str] = template["spec"]["containers"][0]["command"]
    return found


def test_the_launcher_gets_the_cap_and_the_price_of_a_worker() -> None:
    argv = words(job(max_cost=500))
    price = INSTANCE_TYPES["p4d.24xlarge"].price
    assert price
    assert argv[argv.index("--max-cost") + 1] == "500"
    assert argv[argv.index("--usd-per-hour") + 1] == f"{price.usd_per_hour:g}"
    assert "--max-cost" not in words(job())


def test_the_image_understands_what_the_job_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    settings = launcher.parse(words(job(max_cost=1234567.5))[3:])
    assert (settings.max_cost, settings.usd_per_hour) == (1234567.5, 21.9576)


def test_a_worker_with_a_part_of_a_node_costs_its_share() -> None:
    argv = words(job(max_cost=500, gpus_per_worker=2))
    assert argv[argv.index("--usd-per-hour") + 1] == "5.4894"


def test_an_elastic_job_has_a_cap_too() -> None:
    spec = ElasticHorovodJobSpec(**{**job(max_cost=9.5).given(), "max_workers": 4})
    argv = words(spec)
    assert argv[argv.index("--max-cost") + 1] == "9.5"


def test_the_agent_of_torchrun_counts_for_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    given: dict[str, Any] = {"name": "job", "image": "image:1", "command": ("train",), "workers": 2}
    spec = TorchElasticJobSpec(**given, instance_type="p4d.24xlarge", max_cost=9.5)
    argv = spec.job()["template"]["spec"]["containers"][0]["command"]
    settings = torch_agent.parse(argv[3:])
    assert (settings.max_cost, settings.usd_per_hour) == (9.5, 43.9153)
    with pytest.raises(InputError, match=r"'max_cost' is 9\.5, but of a TrainJob no agent counts the cost; omit it"):
        spec.replaced(kind="TrainJob")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "'max_cost' is 0; give a number above 0"),
        (-5, "'max_cost' is -5; give a number above 0"),
        ("500", "'max_cost' is '500'; give a number"),
        (True, "'max_cost' is True; give a number"),
        (float("nan"), "'max_cost' is nan; give a number"),
        (float("inf"), "'max_cost' is inf; give a number"),
        (
            0.5,
            "'max_cost' is 0.5, but a minute of 2 x 8 GPUs of p4d.24xlarge costs $0.73; "
            "give dollars for the whole run, all its starts together",
        ),
    ],
)
def test_rejects_other_amounts(value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        job(max_cost=value)
    assert str(caught.value).startswith(message)


def test_a_type_without_a_price_has_no_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    row = dataclasses.replace(INSTANCE_TYPES["p4d.24xlarge"], price=None)
    monkeypatch.setattr(gpu_pods, "gpu_instance_type", lambda _: row)
    assert "--max-cost" not in words(job())
    with pytest.raises(InputError) as caught:
        job(max_cost=500)
    assert str(caught.value) == (
        "'max_cost' is 500, but the catalog has no price of p4d.24xlarge; omit it, and limit the time with "
        "'deadline_seconds'"
    )


def test_sagemaker_has_other_prices() -> None:
    message = "'max_cost' is 500, but SageMaker has other prices, and no launcher that counts them; omit it"
    with pytest.raises(InputError, match=message):
        sagemaker_samples.job("resnet50-p4d", spec={"max_cost": 500})


def test_the_launchers_line_is_understood() -> None:
    from training.pods.cost_cap import CostCap, WorkerCostFile

    cap = CostCap(1500.0, 21.9576, WorkerCostFile((), 22), lambda: ["a", "b"])
    found = COST_LINE.fullmatch(str(cap))
    assert found
    assert found.groupdict() == {"usd": "0.00", "most": "1,500.00", "rate": "43.92"}
