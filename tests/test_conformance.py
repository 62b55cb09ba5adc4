"""The table of the scripts of other people: each has its file, and the table its rule."""

import ast

import pytest

from tests.conformance.__main__ import HERE, SCRIPTS, Result, mistakes, path_of, table

EXACT = Result(verdict="exact", lives={"exact": 1}, kills=5, reasons=[])
DIFFERENT = Result(verdict="continued, but different", lives={}, kills=4, reasons=["the learning rate is 1, not 2"])


def test_every_script_is_in_the_table() -> None:
    assert {path.stem for path in (HERE / "without").glob("*.py")} == set(SCRIPTS)
    assert {path.stem for path in (HERE / "with").glob("*.py")} <= set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_without_the_library_is_short_and_imports_nothing_of_this_project(name: str) -> None:
    text = path_of(name, "without").read_text()
    assert 25 <= len(text.splitlines()) <= 60
    imported = {
        each.module if isinstance(each, ast.ImportFrom) else each.names[0].name
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.Import | ast.ImportFrom)
    }
    assert not {str(name).partition(".")[0] for name in imported} & {"training", "training_workloads"}


def test_the_table_has_a_column_without_the_library_and_one_with_it() -> None:
    assert table({"torch_ddp": {"without": DIFFERENT, "with": EXACT}, "keras_fit": {"without": DIFFERENT}}) == (
        "| script | ranks | without the library | why | with it |\n|---|---|---|---|---|\n"
        "| [torch_ddp](../tests/conformance/without/torch_ddp.py) | 2 | continued, but different (4) "
        "| the learning rate is 1, not 2 | exact (5) |\n"
        "| [keras_fit](../tests/conformance/without/keras_fit.py) | 1 | continued, but different (4) "
        "| the learning rate is 1, not 2 |  |"
    )


def test_a_script_that_is_not_exact_with_the_library_is_a_mistake() -> None:
    assert mistakes({"torch_ddp": {"without": DIFFERENT, "with": EXACT}, "hf_trainer": {"without": EXACT}}) == []
    assert mistakes({"torch_ddp": {"without": EXACT, "with": DIFFERENT}}) == [
        "torch_ddp with the library: continued, but different"
    ]
