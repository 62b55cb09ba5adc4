from typing import Any

import cdk8s
import pytest

from training_workloads import InputError, NcclTestJob, NcclTestJobSpec


def spec(**changes: Any) -> NcclTestJobSpec:
    defaults: dict[str, Any] = {"name": "nccl", "image": "image:1", "instance_type": "p5.48xlarge"}
    return NcclTestJobSpec(**{**defaults, **changes})


def manifest(test: NcclTestJobSpec) -> dict[str, Any]:
    chart = cdk8s.Testing.chart()
    NcclTestJob(chart, "Test", spec=test)
    document, policy = cdk8s.Testing.synth(chart)
    assert policy["kind"] == "NetworkPolicy"
    return dict(document)


def command(test: NcclTestJobSpec) -> list[str]:
    return list(manifest(test)["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"])


def option(test: NcclTestJobSpec, name: str) -> str | None:
    words = command(test)
    return words[words.index(name) + 1] if name in words else None


def limits(test: NcclTestJobSpec) -> dict[str, Any]:
    worker = manifest(test)["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    return dict(worker["containers"][0]["resources"]["limits"])


def test_two_nodes_are_compared_with_the_published_figure() -> None:
    words = command(spec())
    assert words[2] == "training.pods.launcher"
    words = words[words.index("--") + 1 :]
    assert words[:11] == [
        *("python", "-m", "training.nccl_test", "--collective", "all_reduce", "--nodes", "2"),
        *("--efa-interfaces", "32", "--minimum-bus-bandwidth", "389.6"),
    ]
    assert words[11:14] == ["--message-gib", "16", "--published"]
    assert words[14].startswith("80% of 487 GB/s at 16 GiB on 2 nodes, https://")
    assert words[15:19] == ["--", "mpirun", "-np", "16"]
    assert words[-13:] == ["all_reduce_perf", *("-b 8 -e 16G -f 2 -g 1 -c 1 -n 20").split()]


@pytest.mark.parametrize(("interfaces", "expected"), [(None, 32), (32, 32), (1, 1), (0, None)])
def test_the_workers_request_the_interfaces_that_are_tested(interfaces: int | None, expected: int | None) -> None:
    assert limits(spec(efa_interfaces=interfaces)).get("vpc.amazonaws.com/efa") == expected


@pytest.mark.parametrize(
    "other",
    [
        {"efa_interfaces": 1},
        {"efa_interfaces": 0},
        {"collective": "all_gather"},
        {"message_gib": 8},
        {"nodes": 1},
        {"instance_type": "p4d.24xlarge"},
    ],
)
def test_what_was_not_published_is_not_compared(other: dict[str, Any]) -> None:
    assert option(spec(**other), "--minimum-bus-bandwidth") is None


def test_larger_messages_are_measured_too_but_not_compared() -> None:
    test = spec(instance_type="p4de.24xlarge", message_gib=16)
    assert (option(test, "-e"), option(test, "--message-gib")) == ("16G", "2")


def test_the_user_can_give_a_threshold() -> None:
    test = spec(instance_type="p4d.24xlarge", collective="reduce_scatter", minimum_bus_bandwidth=40.5)
    assert option(test, "--minimum-bus-bandwidth") == "40.5"
    assert option(test, "--published") is None
    assert "reduce_scatter_perf" in command(test)


@pytest.mark.parametrize(
    ("instance_type", "message"),
    [
        ("g4dn.metal", "4G"),
        ("p3dn.24xlarge", "8G"),
        ("p4d.24xlarge", "8G"),
        ("p4de.24xlarge", "2G"),
        ("p5.48xlarge", "16G"),
    ],
)
def test_the_largest_message_is_the_published_one_or_fits_the_gpu(instance_type: str, message: str) -> None:
    assert option(spec(instance_type=instance_type), "-e") == message


def test_one_node_has_no_network_to_test() -> None:
    assert option(spec(nodes=1), "--efa-interfaces") == "0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": 0}, "'nodes' is 0; give 1 or more"),
        (
            {"collective": "allreduce"},
            "'collective' is 'allreduce'; give one of all_reduce, all_gather, reduce_scatter",
        ),
        (
            {"efa_interfaces": 33},
            "'efa_interfaces' is 33, but p5.48xlarge has 32; lower it, or omit it to use all",
        ),
        ({"efa_interfaces": -1}, "'efa_interfaces' is -1; give 0 or more"),
        ({"efa_interfaces": "all"}, "'efa_interfaces' is 'all'; give a whole number, 0 or more"),
        (
            {"message_gib": 32},
            "'message_gib' is 32, but a GPU of p5.48xlarge has 80 GiB and must hold the message three times; lower it "
            "to 16",
        ),
        ({"message_gib": 0}, "'message_gib' is 0; give 1 or more"),
        ({"minimum_bus_bandwidth": -1}, "'minimum_bus_bandwidth' is -1; give a number above 0"),
        ({"minimum_bus_bandwidth": float("nan")}, "'minimum_bus_bandwidth' is nan; give a number above 0"),
        ({"instance_type": "m5.xlarge"}, "'instance_type' is 'm5.xlarge', but it has no GPU"),
        ({"image": "a b"}, "'image' is 'a b'; remove the blank"),
        ({"namespace": "A"}, "'namespace' is 'A'; give lower-case letters"),
        ({"name": "NCCL"}, "'name' is 'NCCL'; give lower-case letters, digits and '-', a letter first"),
    ],
)
def test_rejects_what_cannot_run(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        spec(**change)
    assert message in str(caught.value)
