"""The rules for commits and files that tools apply before a commit."""

import configparser
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from setup import commit_title


@pytest.mark.parametrize(
    "title",
    [
        "README: times as measured on this state",
        "cli, config: messages that suit what the user typed",
        "nccl_test: one type a variable",
        "ResNet-50: " + "x" * 61,
        "Merge branch 'fix-constructs' into a branch whose name is longer than any title may be",
        'Revert "config: at most 30 node groups, which fit in a template of CloudFormation"',
        "fixup! lint: an earlier title",
    ],
)
def test_accepts_a_title_with_an_area(title: str) -> None:
    assert commit_title.problem(f"{title}\n\nWhy, and how it was tested.\n# Git's comment\n") is None


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("ResNet-50: " + "x" * 62, "has 73 characters; give 72 at most, and say the rest in the body"),
        ("Fix the lint", "give 'area: imperative', such as "),
        ("lint:report a mask", "give 'area: imperative', such as "),
        ("lint: report a mask.", "give 'area: imperative', such as "),
        ("", "give 'area: imperative', such as "),
        ("Merge conflicts are reported", "give 'area: imperative', such as "),
        ("lint: report a mask\nwithout an empty line", "give an empty line after it"),
    ],
)
def test_says_what_is_wrong_with_a_title(message: str, found: str) -> None:
    assert (commit_title.problem(message) or "").startswith(found)


def test_the_hook_ends_with_one_line(tmp_path: Path) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text("Fix the lint\n")
    with pytest.raises(SystemExit, match=r"^error: the title of the commit is 'Fix the lint': give 'area: imperative'"):
        commit_title.main(str(message))
    message.write_text("")
    with pytest.raises(SystemExit, match=r"^error: the title of the commit is '': give 'area: imperative'"):
        commit_title.main(str(message))
    message.write_text("lint: fix it\n")
    commit_title.main(str(message))


def test_every_hook_is_a_program_of_the_locked_environment(root: Path) -> None:
    (repository,) = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system", hook["id"]
        program = root / hook["entry"].split()[0]
        assert program.is_relative_to(root / ".venv/bin"), hook["id"]
        assert program.exists(), f"{program} is missing: run `make setup-cdk`"


def test_editors_wrap_and_indent_as_ruff_and_make_do(root: Path) -> None:
    rules = configparser.ConfigParser()
    rules.read_string("[top]\n" + (root / ".editorconfig").read_text())
    ruff = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["ruff"]
    assert rules["*"].getint("max_line_length") == ruff["line-length"]
    assert (rules["*"]["indent_style"], rules["*"]["indent_size"]) == ("space", "4")
    assert rules["Makefile"]["indent_style"] == "tab"


def test_prose_is_wrapped_as_editors_wrap_it(root: Path) -> None:
    rules = configparser.ConfigParser()
    rules.read_string("[top]\n" + (root / ".editorconfig").read_text())
    longest = int(rules["*.md"]["max_line_length"])
    # A table, a picture, an entry of a list of links and the output of a program stay on a line.
    kept = re.compile(r"\s*(\||!\[|- \[)")
    long = []
    for page in [root / "CONTRIBUTING.md", root / "README.md", *(root / "docs").rglob("*.md")]:
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        long += [f"{page.name}: {line}" for line in text.splitlines() if len(line) > longest and not kept.match(line)]
    assert long == []


def test_every_file_that_the_guide_names_exists(root: Path) -> None:
    page = (root / "CONTRIBUTING.md").read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page)
    named = re.findall(r"`((?:constructs|docs|examples|setup|tests|training|workloads)/[\w/.-]*)`", page)
    assert len(links) > 20
    assert len(named) > 10
    assert [name for name in {*links, *named} if not (root / name).exists()] == []


def test_every_test_that_the_guide_names_exists(root: Path) -> None:
    page = (root / "CONTRIBUTING.md").read_text()
    written = "\n".join(path.read_text() for path in (root / "tests").rglob("test_*.py"))
    files = {path.name for path in (root / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(?:tests/)?(?:[\w/]+/)?(test_\w+(?:\.py)?)`", page))
    assert len(named) > 8
    assert [name for name in named if name not in files and f"def {name}(" not in written] == []
