import pytest

from training_workloads.mpijob.launch_command import commands, launches, program_of


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


def test_a_script_that_is_not_understood_is_none() -> None:
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
    assert launch.number("np", "n", "c") == 16
    assert launch.exported == {"A": "1", "B": None}
    assert launch.started == "all_reduce_perf"


@pytest.mark.parametrize("spelling", ["--np=4", "-np 4", "--num-proc 4"])
def test_every_spelling_of_a_horovodrun_option_is_read(spelling: str) -> None:
    (launch,) = launches(["horovodrun", "--verbose", "--gloo", *spelling.split(), "python", "-np", "9"])
    assert (launch.number("np", "num-proc"), launch.started) == (4, "python")


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
def test_what_the_shell_puts_in_is_known_to_be_unknown(script: str, expands: bool) -> None:
    (launch,) = launches(["sh", "-c", script])
    assert launch.expands is expands


def test_each_launch_of_a_script_is_found() -> None:
    found = launches(["sh", "-c", "echo mpirun; if mpirun -np 2 hostname; then time mpirun -np 16 train; fi"])
    assert [launch.number("np") for launch in found] == [2, 16]
