"""The prose keeps to the words of docs/glossary.md.

Only words that have no technical meaning are here; most words of the glossary's second column do.
"""

import re
from collections.abc import Mapping

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
    r"\blies\b": "is, stands",
    r"\b(is|are|was|were|be|been) said\b": "given, written, reported; or name who reports it",
    r"\b[Ww]hat (is|are|has|have) (no|none|neither|nothing)\b": "the noun, such as non-bools",
    r"\bthat (is|are) none\b": "the noun: an invalid path, an unknown name",
    # Behind a sentence, so no place: "Where the data is" is a heading or a text in a table.
    r"[a-z)`]\. Where (a|an|the|it|no|you)\b": "if",
}

#: The same for the first words of a docstring or of an attribute's text: a reader looks for the noun.
NOUNS_INSTEAD = {
    r"(?m)(\"{3}|#: |^\s+\w+: )Of\b": "the noun: 'Images per epoch', not 'Of an epoch'",
    r"\"{3}(?!Say)\w+ what (?!to\b)": "the noun: 'the user's message', not 'what the user reads'",
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


def places(pattern: str, texts: Mapping[str, str]) -> list[str]:
    """Return where texts have a pattern, as `file:line: words`."""
    found = [(name, text, match) for name, text in texts.items() for match in re.finditer(pattern, text)]
    return [
        f"{name}:{text[: match.end()].count(chr(10)) + 1}: {' '.join(match.group().split())}"
        for name, text, match in found
    ]


@pytest.mark.parametrize("pattern", INSTEAD)
def test_the_glossarys_words_are_used(pattern: str) -> None:
    # A test name joins its words with underscores, and prose may wrap a phrase.
    texts = {name: text.replace("_", " ") for name, text in TEXTS.items()}
    found = places(pattern.replace(" ", r"[\s_]+(?:#\s*)?"), texts)
    assert not found, "\n".join([f"instead write: {INSTEAD[pattern]}", *found])


@pytest.mark.parametrize("pattern", NOUNS_INSTEAD)
def test_a_docstring_begins_with_its_noun(pattern: str) -> None:
    found = places(pattern, {name: text for name, text in TEXTS.items() if name.endswith(".py")})
    assert not found, "\n".join([f"instead write: {NOUNS_INSTEAD[pattern]}", *found])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"""Of an epoch, over all ranks."""', 1),
        ("    images: Of an epoch.\n", 1),
        ('"""Images of an epoch."""\n    images: Images. Of two, the first.\n', 0),
        ('"""Return what the user reads."""', 1),
        ('"""Return what to do, and what the user reads."""', 0),
    ],
)
def test_finds_a_docstring_without_its_noun(text: str, count: int) -> None:
    assert sum(len(places(pattern, {"a.py": text})) for pattern in NOUNS_INSTEAD) == count


def test_there_are_texts_to_search() -> None:
    assert {"README.md", "app.py", "Makefile", "training/Dockerfile", "docs/lint.md"} <= set(TEXTS)
