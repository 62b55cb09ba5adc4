"""Run every scanner on every configuration; `make scan`."""

import json
import shutil
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from scan.nag import synthesize
from scan.rendered import render_everything
from scan.scanned_manifests import embedded_manifests, write_manifests
from scan.scanner_findings import Finding, read_suppressions, unsuppressed
from scan.scanners import cfn_lint, checkov

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / ".venv-scan/bin"
OUT = ROOT / ".scan"


def main() -> None:
    """Print the findings and the number of scanned templates; exit with code 1 if there are findings."""
    for folder in ("templates", "manifests", "rendered"):
        shutil.rmtree(OUT / folder, ignore_errors=True)
    OUT.mkdir(exist_ok=True)
    (OUT / ".gitignore").write_text("*\n")
    scenarios = sorted((ROOT / "tests/stacks/scenarios").glob("*.yaml"))
    configurations = [ROOT / "cluster.yaml", ROOT / "examples/two_teams.yaml", *scenarios]
    # Two at a time: each synthesis is a Python and a Node.js process.
    with ThreadPoolExecutor(2) as pool:
        syntheses = pool.map(lambda config: synthesize(config, OUT / "templates" / config.stem), configurations)
        findings = [finding for found in syntheses for finding in found]
    templates = sorted((OUT / "templates").glob("*/*.template.json"))
    findings += cfn_lint(PROGRAMS, templates)
    findings += checkov(PROGRAMS, OUT / "templates", "cloudformation")
    findings += _manifest_findings(templates)
    for finding, times in Counter(findings).items():
        print(finding if times == 1 else f"{finding} ({times} times)")
    print(f"scanned {len(templates)} templates of {len(configurations)} configurations: {len(findings)} findings")
    sys.exit(1 if findings else 0)


def _manifest_findings(templates: list[Path]) -> list[Finding]:
    for template in templates:
        documents = list(embedded_manifests(json.loads(template.read_text())))
        if documents:
            write_manifests(documents, OUT / "manifests" / f"{template.parent.name}.yaml")
    for path in render_everything(OUT / "rendered"):
        write_manifests(filter(None, yaml.safe_load_all(path.read_text())), OUT / "manifests" / path.name)
    found = checkov(PROGRAMS, OUT / "manifests", "kubernetes")
    return unsuppressed(found, read_suppressions(ROOT / "scan/suppressions.yaml"))


if __name__ == "__main__":
    main()
