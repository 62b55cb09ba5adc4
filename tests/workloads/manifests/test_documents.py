import os
from pathlib import Path

import pytest

from training_workloads import InputError
from training_workloads.manifests.documents import manifest_files, read_documents, read_manifest, read_manifests

JOB = "kind: MPIJob\nmetadata:\n  name: job\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with manifests at several levels, hidden files and other files; also the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("b.yaml", "a.yml", "c.json", "d.txt", ".e.yaml", "jobs/f.yaml", "jobs/deep/g.yaml", ".git/h.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}" if name == "c.json" else JOB)
    return tmp_path


def test_each_value_has_its_line_in_the_text() -> None:
    _, second = read_documents(f"# first\n{JOB}---\n{JOB}", "job.yaml")
    assert second.content == {"kind": "MPIJob", "metadata": {"name": "job"}}
    assert second.line(("metadata", "name")) == 8
    assert second.where(("metadata", "labels")) == "job.yaml:7"


def test_items_of_a_list_are_documents() -> None:
    first, second = read_documents("kind: List\nitems:\n  - kind: A\n  - kind: B\n")
    assert (first.content, second.content) == ({"kind": "A"}, {"kind": "B"})
    assert second.line(("kind",)) == 4


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("a: {{ b }}\n", "is a Helm template, but YAML is needed; run 'helm template'"),
        ("a: [\n", "this is not YAML"),
        ("a: 1\na: 2\n", "line 1 has the same key"),
        (b"\xff\xfe\xff", "is not UTF-8 text"),
    ],
)
def test_rejects_what_is_not_a_manifest(text: str | bytes, fragment: str) -> None:
    with pytest.raises(InputError) as rejected:
        read_documents(text, "job.yaml")
    (problem,) = rejected.value.problems
    assert problem.source.startswith("job.yaml")
    assert fragment in str(problem)


def test_duplicate_keys_are_problems_of_their_object_where_wanted() -> None:
    text = "a: 1\na: 2\n---\nkind: List\nitems:\n  - {b: 1}\n  - {c: {d: 1, d: 2}}\n"
    read = read_documents(text, "job.yaml", tolerant=True)
    assert [[(problem.path, problem.source) for problem in document.problems] for document in read] == [
        [(("a",), "job.yaml:2")],
        [],
        [(("c", "d"), "job.yaml:7")],
    ]


def test_a_duplicate_key_of_a_list_itself_is_rejected() -> None:
    with pytest.raises(InputError, match="line 1 has the same key"):
        read_documents("kind: List\nkind: List\nitems: []\n", tolerant=True)


def test_a_folder_stands_for_its_manifests_at_one_level(folder: Path) -> None:
    assert manifest_files(["."]) == (["a.yml", "b.yaml", "c.json"], [])
    assert manifest_files(["jobs"]) == (["jobs/f.yaml"], [])


def test_a_folder_is_read_at_any_depth_where_wanted(folder: Path) -> None:
    files, problems = manifest_files(["."], recursive=True)
    assert files == ["a.yml", "b.yaml", "c.json", "jobs/deep/g.yaml", "jobs/f.yaml"]
    assert problems == []


def test_a_link_back_to_a_folder_is_not_followed(folder: Path) -> None:
    (folder / "jobs" / "loop").symlink_to(folder)
    files, _ = manifest_files(["jobs"], recursive=True)
    assert files == ["jobs/deep/g.yaml", "jobs/f.yaml"]


@pytest.mark.parametrize("recursive", [None, True])
def test_what_is_not_a_file_is_reported_and_hides_no_other(folder: Path, recursive: bool | None) -> None:
    (folder / "jobs" / "gone.yaml").symlink_to("gone")
    (folder / "jobs" / "loop.yml").symlink_to("loop.yml")
    os.mkfifo(folder / "jobs" / "pipe.json")
    (folder / "jobs" / "folder.yaml").mkdir()
    (folder / "jobs" / "link.yaml").symlink_to("f.yaml")
    files, problems = manifest_files(["jobs"], recursive=recursive)
    assert files[-2:] == ["jobs/f.yaml", "jobs/link.yaml"]
    link = "but it is a link to a file that does not exist; replace or remove it"
    assert list(map(str, problems)) == [
        f"'file' is 'jobs/gone.yaml', {link}",
        f"'file' is 'jobs/loop.yml', {link}",
        "'file' is 'jobs/pipe.json', but it is not a regular file; replace or remove it",
    ]


def test_each_file_is_read_once(folder: Path) -> None:
    assert manifest_files(["b.yaml", ".", "-", "none.yaml"])[0] == ["b.yaml", "a.yml", "c.json", "-", "none.yaml"]


@pytest.mark.parametrize(
    ("name", "recursive", "text"),
    [
        ("", False, "'file' is ''; give a manifest, a folder or -"),
        (
            "empty",
            False,
            "'file' is 'empty', but the folder has no .yaml, .yml or .json file; give a folder with manifests, or -R "
            "for the folders inside it",
        ),
        (
            "empty",
            True,
            "'file' is 'empty', but the folder has no .yaml, .yml or .json file; give a folder with manifests",
        ),
        (
            "empty",
            None,
            "'file' is 'empty', but the folder has no .yaml, .yml or .json file; give a folder with manifests",
        ),
    ],
)
def test_rejects_a_folder_without_manifests(folder: Path, name: str, recursive: bool | None, text: str) -> None:
    (folder / "empty").mkdir()
    files, problems = manifest_files([name], recursive=recursive)
    assert (files, list(map(str, problems))) == ([], [text])


def test_a_file_that_cannot_be_read_hides_no_other(folder: Path) -> None:
    (folder / "bad.yaml").write_text("a: [")
    read, problems = read_manifests(["bad.yaml", "b.yaml", "none.yaml"])
    assert [(name, len(documents)) for name, documents in read] == [("b.yaml", 1)]
    assert [problem.source or problem.given for problem in problems] == ["bad.yaml:1", "none.yaml"]
    assert str(problems[1]) == (
        "'file' is 'none.yaml', but it cannot be read (No such file or directory); give a manifest, a folder or -"
    )


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "input").write_text(JOB)
    with (tmp_path / "input").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        (document,) = read_manifest("-")
    assert document.where(("kind",)) == "-:1"


@pytest.mark.parametrize("given", ["jobs", "jobs/link.yaml"])
def test_no_line_of_a_secret_behind_a_link_is_shown(given: str, folder: Path) -> None:
    secret = folder / "home" / "credentials"
    secret.parent.mkdir()
    secret.write_text("[default]\naws_access_key_id = AKIAEXAMPLE\n")
    (folder / "jobs" / "link.yaml").symlink_to(secret)
    _, problems = read_manifests([given])
    assert list(map(str, problems)) == [
        "'file' is 'jobs/link.yaml', but it is a link out of its folder, to a file that is not a valid manifest; no "
        "line of it is shown; give the file itself, or remove the link"
    ]


def test_manifests_behind_links_are_read_and_lines_of_a_folder_are_shown(folder: Path) -> None:
    (folder / "jobs" / "shared.yaml").symlink_to(folder / "b.yaml")
    (folder / "jobs" / "deep" / "wrong").write_text("[default]\nx = y\n")
    (folder / "jobs" / "wrong.yaml").symlink_to("deep/wrong")
    read, problems = read_manifests(["jobs"])
    assert [(name, len(documents)) for name, documents in read] == [("jobs/f.yaml", 1), ("jobs/shared.yaml", 1)]
    assert "jobs/wrong.yaml:2 is 'x = y'" in str(problems[0])
