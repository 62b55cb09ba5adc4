"""Measure the built site in Chromium: cut code, split options, wide tables at 1,280 px and at 400 px."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

from docs.site.page_list import pages
from setup.source_tree import ROOT

__all__ = ["WIDTHS", "faults", "find_browser"]

WIDTHS = (1280, 400)

# Frames of files may read each other with an option of the browser alone. A page is measured as soon as it is loaded.
_HARNESS = """<!doctype html><body style="margin: 0"><pre id="faults"></pre><script>
const visible = element => element.getClientRects().length > 0;
const first = (root, selector, wrong) => [...root.querySelectorAll(selector)].filter(visible).find(wrong);
function measure(root, width, page) {
    const say = (what, element) => element && found.push(`${page} at ${width} px: ${what}: ` +
        element.textContent.trim().replace(/\\s+/g, " ").slice(0, 60));
    if (root.documentElement.scrollWidth > width) found.push(`${page} at ${width} px: the page scrolls sideways`);
    say("code is cut", first(root, "article .highlight pre", e => e.scrollWidth > e.clientWidth + 1));
    say("an option is split", first(root, "article code .pre", e => /^--?\\w[\\w-]*$/.test(e.textContent) &&
        e.getBoundingClientRect().height > 1.8 * parseFloat(root.defaultView.getComputedStyle(e).fontSize)));
    if (width > 1000) say("a table is cut",
        first(root, "article .table-wrapper", e => e.scrollWidth > e.clientWidth + 1));
}
const found = [];
async function run(pages, widths) {
    for (const width of widths) for (const page of pages) {
        const frame = document.createElement("iframe");
        frame.style = `border: 0; height: 900px; width: ${width}px`;
        await new Promise(loaded => { frame.onload = loaded; frame.src = page; document.body.append(frame); });
        measure(frame.contentDocument, width, page.split("/").slice(-2).join("/"));
        frame.remove();
    }
    document.getElementById("faults").textContent = "faults: " + JSON.stringify(found);
}
run(PAGES, SIZES);
</script>"""


def find_browser() -> str | None:
    """Return the path of Chromium; None if the machine has none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def faults(browser: str, files: list[Path], widths: tuple[int, ...] = WIDTHS) -> list[str]:
    """Return the faults of HTML files, cut code, split options and wide tables, each with its page and width."""
    with tempfile.TemporaryDirectory() as scratch:
        text = _HARNESS.replace("PAGES", json.dumps([file.as_uri() for file in files]))
        harness = Path(scratch, "harness.html")
        harness.write_text(text.replace("SIZES", json.dumps(widths)))
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
        options += [f"--user-data-dir={scratch}/profile", f"--window-size={max(widths)},1000"]
        command = [browser, *options, "--virtual-time-budget=600000", "--dump-dom", harness.as_uri()]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    result = re.search(r"faults: (\[.*\])", shown)
    if result is None:
        raise RuntimeError(f"{browser} measured nothing; its output: {shown[-500:]}")
    found: list[str] = json.loads(unescape(result[1]))
    return found


def main(site: str) -> None:
    """Measure every page of the navigation, or report that no browser does."""
    browser = find_browser()
    if browser is None:
        print("not measured: the widths of code and tables; install chromium to measure them")
        return
    found = faults(browser, [ROOT / site / f"{page.name}.html" for page in pages()])
    if found:
        sys.exit(
            "\n".join([*found, f"error: {len(found)} places of the site do not fit; change docs/_static/site.css"])
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
