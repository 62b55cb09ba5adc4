import pytest

from training_workloads.lint import lint_read, lint_text
from training_workloads.lint.rules.suppression_rules import suppressions
from training_workloads.lint.selection import chosen_rules
from training_workloads.manifests.documents import read_documents

WRONG = (
    "kind: PersistentVolume\nspec: {persistentVolumeReclaimPolicy: Recycle, csi: {driver: other, volumeHandle: a}, "
    "capacity: {storage: 1Gi}, accessModes: [ReadWriteMany]}"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1  # trainctl: ignore[x] why", [(1, 1, ("x",), "why")]),
        ("# trainctl: ignore[x, y] why not\na: 1", [(1, 2, ("x", "y"), "why not")]),
        # Other comments and empty lines may be between.
        ("# trainctl: ignore[x] why\n\n# more\na: 1", [(1, 4, ("x",), "why")]),
        ("# trainctl: ignore[x] a\n# trainctl: ignore[y] b\na: 1", [(1, 3, ("x",), "a"), (2, 3, ("y",), "b")]),
        ("#trainctl:ignore[x]why", [(1, 1, ("x",), "why")]),
        ("a: 1 # trainctl: ignore[x]", [(1, 1, ("x",), "")]),
        ("a: 1 # trainctl: ignore it", [(1, 1, (), "it")]),
        ("a: 1 # trainctl: ignored", []),
        ("a: 1# trainctl: ignore[x] why", []),
        ("", []),
    ],
)
def test_comments_that_suppress(text: str, expected: list[tuple[int, int, tuple[str, ...], str]]) -> None:
    assert [(one.line, one.covers, one.rules, one.reason) for one in suppressions(text)] == expected


def found(text: str) -> list[tuple[int, str]]:
    return [(line, finding.rule) for finding, line in lint_text(text)]


def test_a_comment_covers_its_own_line_only() -> None:
    assert found(WRONG) == [(2, "volume-recycled")]
    assert found(f"{WRONG} # trainctl: ignore[volume-recycled] why") == []
    assert found(f"# trainctl: ignore[volume-recycled] why\n{WRONG}") == [
        (1, "unused-suppression"),
        (3, "volume-recycled"),
    ]


def test_a_rule_on_comments_is_ignored_as_any_other() -> None:
    documents = read_documents(f"# trainctl: ignore[volume-recycled] why\n{WRONG}", tolerant=True)
    chosen = chosen_rules(ignore=["unused-suppression"])
    assert [finding.rule for finding, _ in lint_read(documents, chosen)] == ["volume-recycled"]


def test_an_unknown_rule_has_the_closest_name() -> None:
    ((finding, line),) = lint_text("a: 1 # trainctl: ignore[volume-recycle] why")
    assert (line, finding.rule, finding.fix) == (1, "unused-suppression", "did you mean volume-recycled?")
