from pathlib import Path

import pytest
from training_workloads.run_local.launchers import LAUNCHERS, find_launcher

from training_workloads import InputError

ELASTIC = [
    *("horovodrun", "-np", "16", "--min-np", "16", "--max-np", "64"),
    *("--host-discovery-script", "/etc/mpi/discover_hosts.sh", "--slots-per-host", "8", "--network-interface", "eth0"),
    *("--elastic-timeout", "1800", "--blacklist-cooldown-range", "10", "100", "python", "-m", "training.digits"),
]


def localized(command: list[str]) -> str:
    position, launcher = find_launcher(command)
    assert position == 0
    return " ".join(launcher.localized(command, ranks=2, discovery=Path("/here/hosts.sh")))


@pytest.mark.parametrize(
    "placement",
    ["--map-by ppr:4:socket --bind-to socket", "--map-by ppr:2:numa --bind-to core", "-map-by slot -bind-to none"],
)
def test_mpirun_shares_the_cores_of_this_machine_among_all_ranks(placement: str) -> None:
    command = localized(f"mpirun -np 16 {placement} --tag-output -x PATH python -m x".split())
    dashes = "-" if placement.startswith("-map") else "--"
    assert command == f"mpirun -np 2 {dashes}map-by slot {dashes}bind-to none --tag-output -x PATH python -m x"


def test_mpirun_without_these_flags_gets_them() -> None:
    command = localized("mpirun -n 16 -x PATH python -m x".split())
    assert command == "mpirun --tag-output --bind-to none --map-by slot -n 2 -x PATH python -m x"


def test_horovodrun_finds_this_machine_only() -> None:
    assert localized(ELASTIC) == (
        "horovodrun -np 2 --min-np 2 --max-np 2 --host-discovery-script /here/hosts.sh --slots-per-host 2 "
        "--network-interface lo --elastic-timeout 1800 --blacklist-cooldown-range 10 100 python -m training.digits"
    )


def test_horovodrun_without_elastic_options_gets_none() -> None:
    assert localized(["horovodrun", "-np", "16", "python", "x.py"]) == (
        "horovodrun --network-interface lo -np 2 python x.py"
    )


def test_a_launcher_is_found_by_its_path_and_behind_what_judges_its_output() -> None:
    command = ["python", "-m", "training.nccl_test", "--", "/opt/bin/mpirun", "-np", "16", "all_reduce_perf"]
    assert find_launcher(command) == (4, LAUNCHERS["mpirun"])


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (ELASTIC, "python"),
        (
            "mpirun -np 2 --hostfile h --tag-output --mca pml ob1 -x PATH all_reduce_perf -b 8".split(),
            "all_reduce_perf",
        ),
        ("mpirun -np 2 --unheard-of a python x.py".split(), None),
        ("mpirun -np 2".split(), None),
    ],
)
def test_what_each_rank_runs(command: list[str], program: str | None) -> None:
    assert find_launcher(command)[1].program_of(command) == program


@pytest.mark.parametrize(("command", "given"), [(["sleep", "1"], "sleep 1"), ([], "empty")])
def test_a_command_without_a_launcher(command: list[str], given: str) -> None:
    with pytest.raises(InputError) as caught:
        find_launcher(command)
    assert str(caught.value) == (
        f"the launcher's command is '{given}'; a local run needs 'mpirun -np <ranks> …' or 'horovodrun -np <ranks> …'"
    )


@pytest.mark.parametrize("command", [["mpirun", "python"], ["mpirun", "-np", "many", "python"], ["mpirun", "-np"]])
def test_a_launcher_without_a_number_of_ranks(command: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        LAUNCHERS["mpirun"].ranks_of(command)
    assert str(caught.value) == (
        f"the launcher's command is '{' '.join(command)}'; a local run needs 'mpirun -np <ranks> …'"
    )
