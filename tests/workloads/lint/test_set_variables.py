"""Where the lint finds the variables of a workload, and which names it knows."""

from typing import Any

from tests.workloads.lint.sample_job import HOSTS, changed, launched, script, variables
from training_workloads.lint.known_variables import KNOWN_VARIABLES, OTHER_VARIABLES
from training_workloads.lint.variables import exported_names, set_variables
from training_workloads.mpijob.view import MpiJobView


def found(changes: dict[str, Any], *names: str) -> list[tuple[str, str, bool]]:
    job = MpiJobView(document=changed({**variables("LAUNCHER"), **changes}))
    return [(one.name, one.value, one.reaches_all) for one in set_variables(job, names)]


def test_variables_of_containers_and_of_mpirun_are_found() -> None:
    given = {**variables("WORKER", A="1"), **launched("mpirun", "-x", "NCCL_NET=AWS Libfabric", "-x", "B", *HOSTS)}
    assert found(given) == [("NCCL_NET", "AWS Libfabric", True), ("A", "1", True)]


def test_variables_of_a_script_are_found_as_the_shell_reads_them() -> None:
    text = """
    # A=comment
    export A="1 2" B='3'; C=4 D=5 mpirun --flag E=6 -x F=7 -x G train --G=8 model.H=9 x/I=10 $J=11
    """
    assert found(script(text)) == [
        *(("A", "1 2", True), ("B", "3", False), ("C", "4", False), ("D", "5", False)),
        *(("E", "6", False), ("F", "7", True)),
    ]


def test_blanks_in_a_value_are_found_in_each_way_of_quoting() -> None:
    for written in ("A='x y'", 'A="x y"', "A=x\\ y", "'A=x y'", '"A=x y"'):
        assert found(script(f"mpirun -x {written} train")) == [("A", "x y", True)]


def test_the_variables_of_a_long_script_are_found_in_linear_time() -> None:
    # In quadratic time this takes minutes.
    lines = [f"export A{number}={number}" for number in range(20_000)]
    assert len(found(script("\n".join(lines)))) == len(lines)


def test_placeholders_and_other_sources_have_no_value() -> None:
    env = [{"name": "A", "value": "$A"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}, {"name": "C"}]
    assert found({"WORKER-CONTAINER env": env}) == []


def test_only_the_variables_that_are_asked_for_are_found() -> None:
    assert found(variables("WORKER", A="1", B="2"), "B", "C") == [("B", "2", True)]


def test_the_variables_that_mpirun_exports_are_found_in_words_and_scripts() -> None:
    for change in (launched("mpirun", "-x", "A", "-x", "B=1", "train"), script("mpirun -x A -x B=1 train")):
        job = MpiJobView(document=changed(change))
        assert exported_names(job.launcher.first) == {"A"}


def test_each_known_variable_is_written_once_and_has_its_prefix() -> None:
    names = [*OTHER_VARIABLES, *(name for group in KNOWN_VARIABLES.values() for name in group)]
    assert len(names) == len(set(names))
    assert all(name.startswith(prefix) for prefix, group in KNOWN_VARIABLES.items() for name in group)
    assert {"NCCL_SOCKET_IFNAME", "FI_EFA_USE_DEVICE_RDMA", "HOROVOD_FUSION_THRESHOLD"} <= set(names)
