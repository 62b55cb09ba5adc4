import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from training_workloads.cli import app

RUNNER = CliRunner()

WRONG = """\
kind: PersistentVolume
spec:
  persistentVolumeReclaimPolicy: Recycle
  csi: {driver: other, volumeHandle: a}
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
"""
_SPEC = "accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}"
RISKY = f"kind: PersistentVolumeClaim\nspec: {{{_SPEC}}}\n"
RIGHT = f"kind: PersistentVolumeClaim\nspec: {{storageClassName: a, {_SPEC}}}\n"


def run(*arguments: object, stdin: str | None = None) -> tuple[int, str]:
    result = RUNNER.invoke(app, ["lint", *map(str, arguments)], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"b.yaml": WRONG, "a.yml": RISKY, "c.json": '{"kind": "Service"}', "d.txt": "not: [yaml"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_each_finding_is_a_line_with_its_place(folder: Path) -> None:
    assert run("b.yaml") == (
        1,
        "b.yaml:3: error: spec.persistentVolumeReclaimPolicy: is Recycle, which no CSI driver can do; the volume is "
        "Failed once its claim is gone; write Retain, so that the data stays [volume-recycled]\n"
        "1 error, 0 warnings in 1 file\n",
    )


def test_a_folder_means_its_manifests(folder: Path) -> None:
    code, output = run(".", "b.yaml")
    assert code == 1
    assert [line.partition(" ")[0] for line in output.splitlines()] == ["a.yml:2:", "b.yaml:3:", "1"]
    assert output.endswith("1 error, 1 warning in 3 files\n")


def test_recursive_reads_the_folders_in_a_folder(folder: Path) -> None:
    for name in ("jobs/deep/z.yaml", "jobs/y.yaml", ".git/x.yaml", "jobs/.x.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(WRONG)
    assert run(".")[1].endswith("1 error, 1 warning in 3 files\n")
    code, output = run("-R", ".")
    assert code == 1
    found = ["a.yml:2:", "b.yaml:3:", "jobs/deep/z.yaml:3:", "jobs/y.yaml:3:", "3"]
    assert [line.partition(" ")[0] for line in output.splitlines()] == found
    assert output.endswith("3 errors, 1 warning in 5 files\n")
    assert run("jobs/deep/")[1].startswith("jobs/deep/z.yaml:3: error: ")


@pytest.mark.parametrize("as_json", [True, False])
def test_a_file_that_cannot_be_read_hides_no_other(folder: Path, as_json: bool) -> None:
    (folder / "aa.yaml").write_bytes(b"\xff\xfe\xff")
    (folder / "z.yaml").write_text("a: [")
    result = RUNNER.invoke(app, ["lint", ".", *(["--json"] if as_json else [])])
    assert [line.split()[1] for line in result.stderr.splitlines()] == ["aa.yaml", "z.yaml:1"]
    if as_json:
        assert [one["file"] for one in json.loads(result.stdout)] == ["a.yml", "b.yaml"]
    else:
        assert result.stdout.splitlines()[-1] == "1 error, 1 warning in 3 files"


def test_a_lone_file_that_cannot_be_read_has_no_counts(folder: Path) -> None:
    assert RUNNER.invoke(app, ["lint", "d.txt"]).stdout == ""
    assert RUNNER.invoke(app, ["lint", "d.txt", "--json"]).stdout == "[]\n"


def test_a_duplicate_key_is_a_finding(folder: Path) -> None:
    code, output = run("-", stdin=RIGHT.replace("spec:", "kind: PersistentVolumeClaim\nspec:"))
    assert (code, output.splitlines()[0]) == (
        1,
        "-:2: error: kind: is given again: line 1 has the same key; keep one of them [duplicate-key]",
    )


def test_a_warning_is_no_failure(folder: Path) -> None:
    code, output = run("a.yml")
    assert (code, output.splitlines()[-1]) == (0, "0 errors, 1 warning in 1 file")


def test_standard_input_is_a_dash() -> None:
    assert run("-", stdin=RIGHT) == (0, "0 errors, 0 warnings in 1 file\n")


def test_json_has_an_object_for_each_finding(folder: Path) -> None:
    code, output = run("b.yaml", "--json")
    assert (code, json.loads(output)) == (
        1,
        [
            {
                "file": "b.yaml",
                "line": 3,
                "level": "error",
                "rule": "volume-recycled",
                "path": "spec.persistentVolumeReclaimPolicy",
                "problem": "is Recycle, which no CSI driver can do; the volume is Failed once its claim is gone",
                "fix": "write Retain, so that the data stays",
            }
        ],
    )
    assert run("-", "--json", stdin=RIGHT) == (0, "[]\n")


@pytest.mark.parametrize(
    ("arguments", "stdin", "fragment"),
    [
        (["none.yaml"], None, "'FILE' is 'none.yaml', but it cannot be read (No such file or directory)"),
        (["d.txt"], None, "d.txt:1 is 'not: [yaml', but"),
        (["-"], "a: {{ b }}\n", "-:1 is a Helm template"),
        (["empty"], None, "'FILE' is 'empty', but the folder has no .yaml, .yml or .json file"),
        (["binary.yaml"], None, "binary.yaml is not UTF-8 text"),
        ([""], None, "'FILE' is ''"),
        (["b.yaml", ""], None, "'FILE' is ''"),
        (
            ["c.json"],
            None,
            "'FILE' is 'c.json', but it contains Service, and the rules are for MPIJob, PersistentVolume, "
            "PersistentVolumeClaim, StorageClass, Job, JobSet, PyTorchJob, TFJob, TrainJob, TrainingRuntime, "
            "ClusterTrainingRuntime; give a manifest with one of these",
        ),
        (["-"], "# nothing\n", "'FILE' is '-', but it contains no Kubernetes object, and the rules are for MPIJob"),
        (["config"], None, "'FILE' is 'config', but it contains no Kubernetes object, and the rules are for MPIJob"),
    ],
)
def test_reports_a_file_that_cannot_be_read(
    folder: Path, arguments: list[str], stdin: str | None, fragment: str
) -> None:
    (folder / "empty").mkdir()
    (folder / "config").mkdir()
    (folder / "config/cluster.yaml").write_text("nodes: 2\n")
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    result = RUNNER.invoke(app, ["lint", *arguments], input=stdin)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {fragment}")
    assert ("-R for the folders inside it" in result.stderr) == (arguments in (["empty"], ["config"]))
