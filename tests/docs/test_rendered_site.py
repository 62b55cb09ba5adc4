import re
from pathlib import Path

import pytest

from docs.site.rendered import faults, find_browser, main
from docs.site.words import marked

STYLE = "docs/_static/site.css"

PAGE = """<!doctype html><style>.pre {{ font: 16px monospace }} {style}</style><article>
<div class="highlight"><pre>{code}</pre></div>
<p style="width: 90px">Text <code><span class="pre">--what-if</span></code></p></article>"""


def test_no_line_of_code_is_cut_and_no_option_is_split(root: Path) -> None:
    rules = dict(re.findall(r"([^{}]+) \{([^{}]*)\}", (root / STYLE).read_text()))
    styles = {selector.split("*/")[-1].strip(): text for selector, text in rules.items()}
    assert "white-space: pre-wrap" in styles["article .highlight pre"]
    assert "display: inline-block" in styles["article code .pre"]


def test_options_and_long_words_are_marked() -> None:
    long = "a" * 40
    words = ["--what-if", "-c", "--efa=0", "a-b", long]
    body = " ".join(f'<span class="pre">{word}</span>' for word in words)
    assert re.findall(r'class="pre ?(\w*)">([^<]+)', marked(body)) == [
        ("option", "--what-if"),
        ("option", "-c"),
        ("option", "--efa=0"),
        ("", "a-b"),
        ("long", long),
    ]


@pytest.mark.skipif(find_browser() is None, reason="needs chromium")
@pytest.mark.parametrize(
    ("with_style", "found"),
    [(True, []), (False, ["the page scrolls sideways", "code is cut: long long", "an option is split: --what-if"])],
)
def test_the_browser_finds_what_does_not_fit(root: Path, tmp_path: Path, with_style: bool, found: list[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE.format(style=(root / STYLE).read_text() if with_style else "", code=f"long{60 * chr(32)}long"))
    browser = find_browser()
    assert browser is not None
    assert faults(browser, [page], (400,)) == [f"{tmp_path.name}/page.html at 400 px: {fault}" for fault in found]


def test_without_a_browser_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    main("dist/docs")
    assert "install chromium" in capsys.readouterr().out
