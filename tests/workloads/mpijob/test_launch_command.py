import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.mpirun import mpirun_variables
from training_workloads.mpijob.launch_command import commands, find_launch, launches, program_of, script_of
from training_workloads.mpijob.launch_options import (
    BIND_TO,
    MAX_RANKS,
    RANKS,
    TAG_OUTPUT,
    is_option_of_hydra,
    options_like,
)
from training_workloads.mpijob.launcher_argv import horovodrun_command, launcher_environment, mpirun_command

PROGRAM = ["python", "train.py"]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], []),
        (["mpirun", "-np", "2", "a"], [["mpirun", "-np", "2", "a"]]),
        (["bash", "-c", "a; b && c || d | e\nf"], [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        (["/bin/sh", "-euxc", "a \\\n  -x 'b; c'"], [["a", "-x", "b; c"]]),
        (["sh", "-c", "# it's a comment\na # don't\nb"], [["a"], ["b"]]),
        (["timeout", "3h", "bash", "-lc", "a"], [["a"]]),
        (["bash", "-c", "--", "a b"], [["a", "b"]]),
        (["bash", "run.sh"], [["bash", "run.sh"]]),
        (["bash", "-c"], []),
    ],
)
def test_commands_of_an_argv(argv: list[str], expected: list[list[str]]) -> None:
    assert commands(argv) == expected


def test_a_script_that_cannot_be_parsed_is_none() -> None:
    assert commands(["sh", "-c", "echo 'never closed"]) is None
    assert launches(["sh", "-c", "mpirun 'never closed"]) == ()


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["/usr/bin/mpirun", "-np"], "mpirun"),
        (["A=b", "exec", "env", "C=d", "timeout", "30m", "mpirun"], "mpirun"),
        (["/entrypoint.sh", "/usr/sbin/sshd", "-De"], "sshd"),
        (["/entrypoint.sh"], ""),
        ([], ""),
    ],
)
def test_the_program_of_a_command(words: list[str], program: str) -> None:
    assert program_of(words) == program


def test_options_end_where_the_program_begins() -> None:
    argv = "mpirun --allow-run-as-root -np 16 -N 8 --mca pml ob1 -x A=1 -x B all_reduce_perf -n 100 -c 1".split()
    (launch,) = launches(argv)
    assert launch.ranks == 16
    assert launch.exported == {"A": "1", "B": None}
    assert launch.program == ("all_reduce_perf", "-n", "100", "-c", "1")


@pytest.mark.parametrize("spelling", ["--np=4", "-np 4", "--num-proc 4"])
def test_every_spelling_of_a_horovodrun_option_is_read(spelling: str) -> None:
    (launch,) = launches(["horovodrun", "--verbose", "--gloo", *spelling.split(), "python", "-np", "9"])
    assert (launch.ranks, launch.program) == (4, ("python", "-np", "9"))


@pytest.mark.parametrize(
    ("script", "expands"),
    [
        ("mpirun -np 2 train", False),
        ("mpirun -np $N -x PATH=$PATH train", False),
        ("mpirun -np 2 $FLAGS train", True),
        ("mpirun -np $(nproc) train", True),
        ("mpirun `cat flags` train", True),
    ],
)
def test_words_that_the_shell_inserts_are_reported_as_unknown(script: str, expands: bool) -> None:
    (launch,) = launches(["sh", "-c", script])
    assert launch.expands is expands


def test_each_launch_of_a_script_is_found() -> None:
    found = launches(["sh", "-c", "echo mpirun; if mpirun -np 2 hostname; then time mpirun -np 16 train; fi"])
    assert [launch.ranks for launch in found] == [2, 16]


@pytest.mark.parametrize("spelling", ["-np 4", "-n 4", "--np 4", "-c 4", "--np=4"])
def test_every_spelling_of_a_number_of_ranks_is_read_and_replaced(spelling: str) -> None:
    (launch,) = launches(["/usr/bin/mpirun", "--bind-to", "core", *spelling.split(), "train", "-np", "9"])
    assert launch.ranks == 4
    changed = launch.with_option(RANKS, 2).with_option(BIND_TO, "none").with_option(TAG_OUTPUT)
    assert (changed.ranks, changed.value(BIND_TO), changed.has_option(TAG_OUTPUT)) == (2, "none", True)
    assert changed.program == ("train", "-np", "9")
    assert changed.launcher == "mpirun"


def test_an_option_is_inserted_only_where_wanted() -> None:
    (launch,) = launches(["horovodrun", "-np", "2", "--max-num-proc", "8", "train"])
    assert launch.with_option(MAX_RANKS, 2).words == ("horovodrun", "-np", "2", "--max-num-proc", "2", "train")
    (fixed,) = launches(["horovodrun", "-np", "2", "train"])
    assert fixed.with_option(MAX_RANKS, 2, insert=False) == fixed
    assert fixed.with_option(MAX_RANKS, 2).max_ranks == 2


def test_the_numbers_of_an_elastic_job_are_read() -> None:
    (launch,) = launches(["sh", "-c", "horovodrun -np 2 --min-np=1 --max-num-proc 8 python train.py"])
    assert (launch.min_ranks, launch.ranks, launch.max_ranks) == (1, 2, 8)


def test_an_option_that_the_table_does_not_have_is_reported() -> None:
    (launch,) = launches(["mpirun", "--brand-new", "3", "-np", "2", "train"])
    assert launch.unknown_options == ("--brand-new",)
    (known,) = launches(["mpirun", "--allow-run-as-root", "-np", "2", "train"])
    assert known.unknown_options == ()


def test_the_launch_in_an_argv_is_found_with_the_words_before_it() -> None:
    before, launch = find_launch(["python", "-m", "judge", "--", "mpirun", "-np", "2", "train"]) or ((), None)
    assert before == ("python", "-m", "judge", "--")
    assert launch is not None
    assert launch.words == ("mpirun", "-np", "2", "train")
    assert find_launch(["sh", "-c", "mpirun -np 2 train"]) is None


def test_the_command_line() -> None:
    assert mpirun_command(16, ["A"], PROGRAM) == [
        *("mpirun", "-np", "16", "--hostfile", "/etc/mpi/hostfile", "--map-by", "slot", "--bind-to", "none"),
        *("--tag-output", "--mca", "pml", "ob1", "--mca", "btl", "^openib"),
        *("--mca", "btl_vader_single_copy_mechanism", "none"),
        *("-x", "PATH", "-x", "LD_LIBRARY_PATH", "-x", "A"),
        *("python", "train.py"),
    ]


def test_ranks_that_are_bound_to_sockets() -> None:
    command = mpirun_command(16, [], PROGRAM, ranks_per_socket=4)
    assert command[5:9] == ["--map-by", "ppr:4:socket", "--bind-to", "socket"]


@pytest.mark.parametrize(
    ("program", "display", "bound"),
    [
        # Open MPI 5, which the set-up installs where the machine has none.
        (".venv-training/bin/mpirun", ["--display", "map-devel"], r"Binding: package\[(\d)\]"),
        # Open MPI 4.1, which the image has.
        ("/usr/bin/mpirun", ["--display-map"], r"Bound: socket (\d)"),
    ],
)
def test_each_half_of_the_ranks_is_bound_to_another_socket(
    program: str, display: list[str], bound: str, root: Path, tmp_path: Path
) -> None:
    """The real mpirun plans the job for a synthetic machine with two sockets of 24 cores."""
    if not (root / program).exists():
        pytest.skip(f"{program} is not installed")
    (tmp_path / "hostfile").write_text("localhost slots=8\n")
    words = mpirun_command(8, [], ["true"], ranks_per_socket=4)
    words[0], words[words.index("--hostfile") + 1] = str(root / program), str(tmp_path / "hostfile")
    machine = {"HWLOC_SYNTHETIC": "package:2 [numa] core:24 pu:2", "HWLOC_THISSYSTEM": "1"}
    run = subprocess.run(
        [words[0], "--do-not-launch", *display, *words[1:]],
        env={**os.environ, **machine, **mpirun_variables(tmp_path / "mpi")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert re.findall(bound, run.stdout) == ["0"] * 4 + ["1"] * 4, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("options", "bound"),
    [([], ["0"] * 8), (["--map-by", "ppr:8:node"], ["0"] * 8), (["--map-by", "ppr:4:socket"], ["0"] * 4 + ["1"] * 4)],
)
def test_without_bind_to_open_mpi_5_uses_the_first_socket_only(
    options: list[str], bound: list[str], root: Path, tmp_path: Path
) -> None:
    """What the lint's rule `ranks-bound-to-far-sockets` says."""
    program = root / ".venv-training/bin/mpirun"
    if not program.exists():
        pytest.skip("Open MPI 5 is not installed")
    (tmp_path / "hostfile").write_text("localhost slots=8\n")
    machine = {"HWLOC_SYNTHETIC": "package:2 [numa] core:24 pu:2", "HWLOC_THISSYSTEM": "1"}
    words = ["--do-not-launch", "--display", "map-devel", "-np", "8", "--hostfile", str(tmp_path / "hostfile")]
    run = subprocess.run(
        [program, *words, *options, "true"],
        env={**os.environ, **machine, **mpirun_variables(tmp_path / "mpi")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert re.findall(r"Binding: package\[(\d)\]", run.stdout) == bound, run.stdout + run.stderr


def test_open_mpi_5_gets_what_the_operator_sets_for_open_mpi_4() -> None:
    assert launcher_environment(8, {"A": "1"}) == {
        "PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile",
        "PRTE_MCA_prte_set_default_slots": "8",
        "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
        "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
        "PRTE_MCA_odls_base_max_threads": "0",
        "A": "1",
    }


def test_an_elastic_job_starts_with_the_fewest_workers_and_uses_all_that_are_ready() -> None:
    assert horovodrun_command(8, 2, 4, PROGRAM) == [
        *("horovodrun", "-np", "16", "--min-np", "16", "--max-np", "32"),
        *("--host-discovery-script", "python -m training.pods.reachable_hosts /etc/mpi/discover_hosts.sh"),
        *("--slots-per-host", "8", "--network-interface", "eth0"),
        *("--elastic-timeout", "1800", "--gloo-timeout-seconds", "180", "--blacklist-cooldown-range", "10", "100"),
        *("python", "train.py"),
    ]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["bash", "-c", "a b"], ("a b", [])),
        (["timeout", "1h", "sh", "-ec", "--", "a", "b", "c"], ("a", ["b", "c"])),
        (["bash", "-c"], ("", [])),
        (["bash", "run.sh"], None),
        (["mpirun", "bash", "-c", "a"], None),
    ],
)
def test_the_script_of_a_shell_and_the_words_behind_it(argv: list[str], expected: tuple[str, list[str]] | None) -> None:
    assert script_of(argv) == expected


def test_the_first_word_of_a_split_script_is_no_command() -> None:
    assert commands(["bash", "-c", "mpirun", "-np", "2"]) is None
    assert commands(["bash", "-c", '"$@"', "--", "mpirun"]) == [["$@"]]


@pytest.mark.parametrize(
    ("spelling", "horovod", "meant"),
    [
        ("hostifle", False, ["hostfile"]),
        ("bindto", False, ["bind-to"]),
        ("map_by", False, ["map-by"]),
        ("X", False, ["x"]),
        ("NP", False, ["np"]),
        ("slot-per-host", True, ["slots-per-host"]),
        ("zzz", False, []),
        ("brand-new", False, []),
    ],
)
def test_the_option_that_a_misspelled_one_means(spelling: str, horovod: bool, meant: list[str]) -> None:
    assert options_like(spelling, horovod=horovod) == meant


def test_an_option_of_hydra_alone() -> None:
    assert is_option_of_hydra("ppn")
    assert not is_option_of_hydra("np")
    (launch,) = launches(["mpirun", "-envnone", "-genv", "A", "1", "-ppn", "2", "-n", "4", "train"])
    assert (launch.ranks, launch.program) == (4, ("train",))


def test_a_script_is_parsed_in_linear_time() -> None:
    def calls(lines: int) -> int:
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        script = "\n".join(f"mpirun -np 2 -x A --bind-to none python train{n}.py" for n in range(lines))
        sys.setprofile(count)
        try:
            assert len(launches(["bash", "-c", script])) == lines
        finally:
            sys.setprofile(None)
        return counted

    assert calls(400) < 5 * calls(100)
