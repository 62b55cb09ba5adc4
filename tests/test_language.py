"""The prose keeps to the words of docs/glossary.md.

Only words that have no technical meaning are here; most words of the glossary's second column do.
"""

import re

import pytest

from setup.source_tree import ROOT, files, relative

#: Each pattern with the glossary's words for it.
INSTEAD = {
    r"\b(is|are|was|were|be|been|being|gets?) told\b": "report, print, show, say; or name what a program receives",
    r"(?<!\.)\btells?\b": "report, print, show, say",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bgo(es)? on with\b|\bgoes on\b": "resume, continue",
    r"\b(nobody|somebody|anybody|everybody)\b": "name who: the user, the project, Kubernetes",
    r"\bwhoever\b": "name who: the user, the caller",
    r"\bof (its|their|his|our) own\b": "separate, its, a second one",
    r"\bfarewell\b": "stop request",
    r"\bshall\b": "must",
    r"\bleft alone\b|\bleaves? (it|them|what) alone\b": "ignore, keep",
    r"\bwhat there is\b|\bwhat is there\b": "name what exists",
    r"\bmakers\b": "upstream",
    r"\brefus(e|es|ed|ing|al)\b": "reject",
}

#: Files with the words of others, or with these words on purpose.
NOT_OURS = re.compile(
    r"docs/glossary\.md|CHANGELOG\.md|tests/test_language\.py|requirements/|package-lock\.json"
    r"|.*__snapshots__/|tests/workloads/lint/manifests/|tests/workloads/catalog/recorded/|LICENSE"
)

#: An error of the operating system keeps its name.
TERMS = re.compile(r"connection[ _]?refused", re.IGNORECASE)

TEXTS = {
    relative(path): TERMS.sub("connection error", path.read_text())
    for path in files()
    if not NOT_OURS.match(relative(path))
    and path.suffix in {".py", ".md", ".toml", ".yaml", ".sh", ".json", ""}
    and not path.is_relative_to(ROOT / ".git")
}


@pytest.mark.parametrize("pattern", INSTEAD)
def test_the_glossarys_words_are_used(pattern: str) -> None:
    # A test name joins its words with underscores, and prose may wrap a phrase.
    found = {
        f"{name}:{text[: match.start()].count(chr(10)) + 1}: {' '.join(match.group().split())}"
        for name, text in TEXTS.items()
        for match in re.finditer(pattern.replace(" ", r"[\s_]+(?:#\s*)?"), text.replace("_", " "))
    }
    assert not found, "\n".join([f"instead write: {INSTEAD[pattern]}", *sorted(found)])


def test_there_are_texts_to_search() -> None:
    assert {"README.md", "app.py", "Makefile", "training/Dockerfile", "docs/lint.md"} <= set(TEXTS)
