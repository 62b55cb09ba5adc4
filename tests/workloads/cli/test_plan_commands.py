import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.workloads.cli.conftest import Command

P4D = "--instance-type=p4d.24xlarge"
P3 = "--instance-type=p3.16xlarge"


def test_a_plan_has_a_line_for_each_subject(command: Command) -> None:
    code, output, errors = command("plan", P4D, "--nodes", "2")
    assert (code, errors) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in output.splitlines())
    assert list(lines) == [
        *("plan", "batch", "speed", "step", "all-reduce", "input", "storage", "epoch", "price", "limit", "source")
    ]
    assert lines["plan"] == "resnet50 on 2 x p4d.24xlarge, 16 GPUs, EFA, not measured"
    assert lines["speed"].startswith("33,913 images/s, 89.2% of as many times one GPU, 98.5% of one node")
    assert lines["limit"] == "GPU"


def test_json_has_the_units_in_its_names(command: Command) -> None:
    found = json.loads(command("plan", P4D, "--json").out)
    assert found["setup"]["instance_type"] == "p4d.24xlarge"
    assert found["gpus"] == 8
    step = found["step"]
    parts = sum(value for name, value in step.items() if name != "total_seconds")
    assert step["total_seconds"] == pytest.approx(parts)
    assert found["images_per_second"] == pytest.approx(2048 / step["total_seconds"])
    assert found["usd_to_accuracy"] == pytest.approx(90 * found["usd_per_epoch"])


def test_a_sweep_is_a_table_and_a_chart(tmp_path: Path, command: Command) -> None:
    code, output, errors = command("plan", P3, "--sweep", "--chart", "sweep.svg")
    assert (code, errors) == (0, "")
    rows = [line.split() for line in output.splitlines()]
    assert [row[0] for row in rows] == ["nodes", "1", "2", "4", "8", "16", "32", "64", "128", "256", "512"]
    assert rows[1][-1] == "GPU"
    assert rows[-1][-1] == "all-reduce"
    assert ElementTree.parse(tmp_path / "sweep.svg").getroot().tag.endswith("svg")
    assert len(json.loads(command("plan", P3, "--sweep", "--json").out)) == 10


def test_what_if_shows_both(command: Command) -> None:
    output = command("plan", P4D, "--nodes=8", "--what-if=efa=0", "--what-if=batch-size=128").out
    assert "64 GPUs, EFA, not measured\n          -> resnet50 on 8 x p4d.24xlarge, 64 GPUs, TCP" in output
    assert "128 images a GPU" in output
    before, after = json.loads(command("plan", P4D, "--nodes=8", "--what-if=efa=0", "--json").out)
    assert before["images_per_second"] > after["images_per_second"]


def test_a_search_names_type_and_nodes(command: Command) -> None:
    found = json.loads(command("plan", "--target-epoch-minutes=10", "--json").out)
    assert found["epoch_seconds"] <= 600
    assert found["setup"]["instance_type"] == "p4d.24xlarge"
    on_p3 = json.loads(command("plan", P3, "--budget=90", "--json").out)
    assert (on_p3["setup"]["instance_type"], on_p3["usd_to_accuracy"] <= 90) == ("p3.16xlarge", True)


def test_the_input_of_a_model_without_a_measurement_is_not_known(command: Command) -> None:
    output = command("plan", "--model=mask-rcnn", "--instance-type=p3dn.24xlarge").out
    assert "84 images/s" in output
    assert "was not measured for this model" in output
    assert (
        json.loads(command("plan", "--model=mask-rcnn", "--instance-type=p3dn.24xlarge", "--json").out)["supply"] == {}
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "'--instance-type' is missing; give one of p3.2xlarge, p3.8xlarge"),
        (["--instance-type=p4d"], "'--instance-type' is 'p4d', but it is not known; did you mean p4d.24xlarge?"),
        ([P4D, "--model=vgg"], "'--model' is 'vgg', but it is not known; known: mask-rcnn, resnet50"),
        ([P4D, "--nodes=two"], "'--nodes' is 'two'; give a whole number, such as 2"),
        ([P4D, "--batch-size=0"], "'--batch-size' is 0; give 1 or more"),
        ([P3, "--efa"], "'--efa' is True, but p3.16xlarge has no EFA; choose another type, or omit it"),
        ([P4D, "--budget=0"], "'--budget' is 0.0; give a number above 0"),
        ([P4D, "--what-if=efa"], "'--what-if' is 'efa'; give OPTION=VALUE with one of model, instance_type"),
        ([P4D, "--what-if=efa=maybe"], "'--what-if' is 'efa=maybe'; give efa=0 or efa=1"),
        ([P4D, "--what-if=node=2"], "'--what-if' is 'node=2'; did you mean nodes"),
        ([P4D, "--what-if=nodes=x"], "'--what-if' is 'nodes=x'; give a whole number, such as 2"),
        ([P4D, "--chart=a.svg"], "'--chart' is 'a.svg'; give a file that ends in .svg, with --sweep"),
        ([P4D, "--sweep", "--chart=a.png"], "'--chart' is 'a.png'; give a file that ends in .svg, with --sweep"),
        (["--model=vgg", "--budget=9"], "'--model' is 'vgg', but it is not known"),
        (["--model=mask-rcnn", "--precision=float32", "--budget=9"], "'--precision' is 'float32', but no rate of"),
        (
            [P4D, "--sweep", "--chart=no/a.svg"],
            "'--chart' is 'no/a.svg', but No such file or directory; give a file in",
        ),
        ([P4D, "--sweep", "--nodes=2"], "'--nodes' is 2, but --sweep compares 1 to 512 nodes; omit one of them"),
        ([P3, "--budget=90", "--efa"], "'--efa' is True, but p3.16xlarge has no EFA"),
        ([P4D, "--sweep", "--what-if=efa=0"], "'--what-if' is 'given', but it cannot be combined with --sweep"),
    ],
)
def test_a_mistake_is_one_line_with_the_option(arguments: list[str], error: str, command: Command) -> None:
    code, output, errors = command("plan", *arguments)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: {error}")
    assert errors.count("\n") == 1
