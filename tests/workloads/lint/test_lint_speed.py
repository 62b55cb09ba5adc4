"""The lint's work grows with the text: counted in calls, which no other load of the machine changes."""

import sys

import pytest

from tests.workloads.lint.sample_job import JOB, changed, script
from training_workloads.lint import lint_manifest, lint_text


def calls_of(run: object, argument: object) -> int:
    """How many functions are called."""
    counted = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run(argument)  # type: ignore[operator]
    finally:
        sys.setprofile(None)
    return counted


# Each line is wrong in the same way, or in its own.
@pytest.mark.parametrize("line", ["mpirun -np 17 a{0}", "mpirun -np 1{0} --hostifle{0} h a", "echo {0}", "python a{0}"])
def test_a_script_of_four_times_the_lines_is_four_times_the_work(line: str) -> None:
    def work(lines: int) -> int:
        return calls_of(lint_manifest, changed(script("\n".join(line.format(n) for n in range(lines)))))

    assert work(200) < 5 * work(50)


def test_four_times_the_jobs_are_four_times_the_work() -> None:
    def work(jobs: int) -> int:
        return calls_of(lint_text, "---\n".join([JOB] * jobs))

    assert work(20) < 5 * work(5)


def test_lines_with_the_same_mistake_are_one_finding() -> None:
    found = lint_manifest(changed(script("\n".join(["mpirun -np 17 --bind-to none train"] * 200))))
    assert [finding.rule for finding in found].count("np-exceeds-slots") == 1
