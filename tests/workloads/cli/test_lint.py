import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.workloads.cli.conftest import Result
from training_workloads.cli import main
from training_workloads.manifests import documents

WRONG = """\
kind: PersistentVolume
spec:
  persistentVolumeReclaimPolicy: Recycle
  csi: {driver: other, volumeHandle: a}
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
"""
_SPEC = "accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}"
RISKY = f"kind: PersistentVolumeClaim\nspec: {{volumeName: a, {_SPEC}}}\n"
RIGHT = f"kind: PersistentVolumeClaim\nspec: {{storageClassName: a, {_SPEC}}}\n"


def lint(*arguments: object, stdin: str | None = None) -> Result:
    with CliRunner().isolation(stdin) as (out, err, _), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["trainctl", "lint", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        sys.stderr.flush()
    code = ended.value.code
    assert isinstance(code, int)
    return Result(code, out.getvalue().decode(), err.getvalue().decode())


def run(*arguments: object, stdin: str | None = None) -> tuple[int, str]:
    result = lint(*arguments, stdin=stdin)
    return result.code, result.out


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
    result = lint(".", *(["--format", "json"] if as_json else []))
    assert [line.split()[1] for line in result.err.splitlines()] == ["aa.yaml", "z.yaml:1"]
    if as_json:
        assert [one["file"] for one in json.loads(result.out)] == ["a.yml", "b.yaml"]
    else:
        assert result.out.splitlines()[-1] == "1 error, 1 warning in 3 files"


def test_a_lone_file_that_cannot_be_read_has_no_counts(folder: Path) -> None:
    assert lint("d.txt").out == ""
    assert lint("d.txt", "--format", "json").out == "[]\n"


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
    code, output = run("b.yaml", "--format", "json")
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
    assert run("-", "--format", "json", stdin=RIGHT) == (0, "[]\n")


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
    result = lint(*arguments, stdin=stdin)
    assert result.code == 2
    assert result.err.startswith(f"error: {fragment}")
    assert ("-R for the folders inside it" in result.err) == (arguments in (["empty"], ["config"]))


SUPPRESSED = WRONG.replace("  persistent", "  # trainctl: ignore[volume-recycled] an old cluster\n  persistent")


def test_rules_are_selected_and_ignored(folder: Path) -> None:
    assert run("b.yaml", "--ignore", "volume-recycled") == (0, "0 errors, 0 warnings in 1 file\n")
    assert run(".", "--select", "claim-without-class, volume-recycled")[0] == 1
    code, output = run(".", "--select", "claim-without-class", "--select", "lustre-version-unset")
    assert (code, output.splitlines()[-1]) == (0, "0 errors, 1 warning in 3 files")


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("--select", "volume-recycles", "'--select' is 'volume-recycles', but no rule has this id; did you mean"),
        ("--ignore", "volume-recycled,zzz", "'--ignore' is 'zzz', but no rule has this id; docs/lint-rules.md lists"),
        ("--format", "xml", "'--format' is 'xml'; give one of text, json, sarif, github"),
    ],
)
def test_an_unknown_rule_or_format_is_rejected(folder: Path, option: str, given: str, message: str) -> None:
    result = lint("b.yaml", option, given)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {message}")


def test_a_comment_with_a_reason_suppresses_a_finding() -> None:
    assert run("-", stdin=SUPPRESSED) == (0, "0 errors, 0 warnings in 1 file\n")
    beside = WRONG.replace("Recycle", "Recycle  # trainctl: ignore[volume-recycled] an old cluster")
    assert run("-", stdin=beside) == (0, "0 errors, 0 warnings in 1 file\n")


def test_a_comment_without_a_reason_suppresses_nothing() -> None:
    code, output = run("-", stdin=SUPPRESSED.replace(" an old cluster", ""))
    assert code == 1
    assert [line.rpartition(" ")[2] for line in output.splitlines()[:-1]] == [
        "[suppression-without-reason]",
        "[volume-recycled]",
    ]


def test_a_comment_that_suppresses_nothing_is_reported() -> None:
    code, output = run("-", stdin=SUPPRESSED.replace("Recycle", "Retain"))
    expected = "-:3: warning: the comment suppresses volume-recycled, which finds nothing here; remove it"
    assert (code, output.splitlines()[0]) == (0, f"{expected} [unused-suppression]")
    # A rule that does not run finds nothing, and the comment may be right.
    assert run("-", "--ignore", "volume-recycled", stdin=SUPPRESSED) == (0, "0 errors, 0 warnings in 1 file\n")


def test_a_comment_at_another_line_than_its_finding_says_which_it_is() -> None:
    comment = next(line for line in SUPPRESSED.splitlines() if "ignore[" in line)
    code, output = run("-", stdin=f"{comment.strip()}\n{WRONG}")
    assert code == 1
    assert output.splitlines()[0] == (
        "-:1: warning: the comment suppresses volume-recycled, which finds nothing here; move it to line 4, which has "
        "the finding, or to the line above [unused-suppression]"
    )


def test_rules_that_are_all_ignored_check_nothing_and_are_rejected() -> None:
    rule = "volume-recycled"
    result = lint("-", "--select", rule, "--ignore", rule, stdin=WRONG)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: '--select' is '{rule}', but no rule is left to check; select a rule that is")


def test_rules_may_be_separated_by_blanks_and_end_with_a_comma() -> None:
    code, output = run("-", "--ignore", "volume-recycled, np-exceeds-slots ,", stdin=WRONG)
    assert (code, output) == (0, "0 errors, 0 warnings in 1 file\n")


def test_sarif_has_the_findings_with_their_rules(folder: Path) -> None:
    code, output = run("b.yaml", "--format", "sarif")
    log = json.loads(output)
    assert (code, log["version"]) == (1, "2.1.0")
    (found,) = log["runs"]
    rules = found["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    (result,) = found["results"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "volume-recycled"
    assert result["level"] == rules[result["ruleIndex"]]["defaultConfiguration"]["level"] == "error"
    assert result["message"]["text"].startswith("spec.persistentVolumeReclaimPolicy: is Recycle")
    (location,) = result["locations"]
    assert location == {
        "physicalLocation": {"artifactLocation": {"uri": "b.yaml"}, "region": {"startLine": 3}},
        "logicalLocations": [{"fullyQualifiedName": "spec.persistentVolumeReclaimPolicy"}],
    }


def test_sarif_gives_the_standard_input_no_address() -> None:
    (result,) = json.loads(run("-", "--format", "sarif", stdin=WRONG)[1])["runs"][0]["results"]
    (location,) = result["locations"]
    assert location == {"logicalLocations": [{"fullyQualifiedName": "spec.persistentVolumeReclaimPolicy"}]}
    beside = SUPPRESSED.replace(" an old cluster", "")
    results = json.loads(run("-", "--format", "sarif", stdin=beside)[1])["runs"][0]["results"]
    assert [result["locations"] for result in results] == [[], [location]]


def test_sarif_names_files_by_uri(folder: Path) -> None:
    (folder / "a b#.yaml").write_text(WRONG)
    for name, uri in {"a b#.yaml": "a%20b%23.yaml", str(folder / "b.yaml"): (folder / "b.yaml").as_uri()}.items():
        (result,) = json.loads(run(name, "--format", "sarif")[1])["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_annotations_of_github_are_escaped(folder: Path) -> None:
    (folder / "a,b:c%.yaml").write_text(WRONG)
    code, output = run("a,b:c%.yaml", "--format", "github")
    begin, _, message = output.removesuffix("\n").partition("::spec")
    assert (code, begin) == (1, "::error file=a%2Cb%3Ac%25.yaml,line=3,title=volume-recycled")
    assert message.endswith("write Retain, so that the data stays")
    assert run("a.yml", "--format", "github")[1].startswith("::warning file=a.yml,line=2,title=claim-without-class::")
    assert run("-", "--format", "github", stdin=WRONG)[1].startswith("::error title=volume-recycled::")
    assert run("-", "--format", "github", stdin=RIGHT) == (0, "")


def test_files_of_other_kinds_are_accepted_where_that_is_wanted(folder: Path) -> None:
    assert run("c.json", "--ignore-unknown") == (0, "0 errors, 0 warnings in 1 file\n")
    assert run("c.json", "b.yaml", "--ignore-unknown")[0] == 1


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero"])
def test_a_device_has_no_end_and_is_not_read(device: str) -> None:
    result = lint(device)
    assert result.code == 2
    assert result.err == f"error: 'FILE' is '{device}', but it is a device; give a manifest, a folder or -\n"


def test_more_than_any_manifest_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_LARGEST", 2**20)
    result = lint("-", stdin="#" * 2**20 + RIGHT)
    assert (result.code, result.out) == (2, "")
    assert "'-', but it has more than 1 MiB" in result.err
