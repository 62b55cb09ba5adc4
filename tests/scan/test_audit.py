import json
import re
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from scan.advisories import Advisory, read_advisories, record
from scan.audit import Accepted, problems, read_accepted
from scan.lock_files import Locked, locked_packages


def advisory(
    *ranges: dict[str, Any], name: str = "a_b", ecosystem: str = "PyPI", versions: list[str] | None = None
) -> Advisory:
    package = {"name": name, "ecosystem": ecosystem}
    affected = {"package": package, "ranges": list(ranges), "versions": versions or []}
    return Advisory(id="GHSA-1", names=frozenset({"GHSA-1", "CVE-1"}), summary="It is bad", affected=(affected,))


def events(**limits: str) -> dict[str, Any]:
    return {"type": "ECOSYSTEM", "events": [{kind: limit} for kind, limit in limits.items()]}


def locked(version: str, name: str = "a-b", ecosystem: str = "PyPI") -> Locked:
    return Locked(ecosystem=ecosystem, name=name, version=version, lock="requirements/x.txt")


@pytest.mark.parametrize(
    ("version", "is_affected"),
    [("0.9", False), ("1.0", True), ("1.9.post1", True), ("2.0rc1", True), ("2.0", False), ("10.0", False)],
)
def test_a_range_ends_before_the_version_that_fixes_it(version: str, is_affected: bool) -> None:
    assert advisory(events(introduced="1.0", fixed="2.0")).affects(locked(version)) is is_affected


@pytest.mark.parametrize(("version", "is_affected"), [("2.0", True), ("2.0.1", False)])
def test_a_range_may_end_after_the_last_affected_version(version: str, is_affected: bool) -> None:
    assert advisory(events(introduced="0", last_affected="2.0")).affects(locked(version)) is is_affected


def test_several_ranges_versions_and_a_range_without_an_end() -> None:
    two = advisory(events(introduced="0", fixed="5.29.6"), events(introduced="6", fixed="6.33.5"))
    affected = [version for version in ("4.25.9", "5.29.6", "6.1", "6.33.5") if two.affects(locked(version))]
    assert affected == ["4.25.9", "6.1"]
    assert advisory(events(introduced="0")).affects(locked("999"))
    assert advisory(versions=["1.5"]).affects(locked("1.5"))
    assert not advisory(versions=["1.5"]).affects(locked("1.6"))
    assert not advisory({"type": "GIT", "events": [{"introduced": "0"}]}).affects(locked("1.5"))


def test_a_package_of_another_ecosystem_has_another_name() -> None:
    bad = advisory(events(introduced="0"), name="aws-cdk", ecosystem="npm")
    assert bad.affects(locked("2.1", "aws-cdk", "npm"))
    assert not bad.affects(locked("2.1", "aws-cdk"))


def test_a_finding_names_package_version_lock_and_fix() -> None:
    (line,) = problems([advisory(events(introduced="0", fixed="2.0"))], [locked("1.5")], [])
    assert line == "a-b 1.5 in requirements/x.txt: GHSA-1, CVE-1: It is bad; fixed in 2.0"


def test_an_accepted_finding_is_none_until_the_version_changes() -> None:
    bad = advisory(events(introduced="0"))
    entry = Accepted(id="CVE-1", package="a-b", version="1.5", reason="because")
    assert list(problems([bad], [locked("1.5")], [entry])) == []
    assert list(problems([bad], [locked("1.6")], [entry])) == [
        "a-b 1.6 in requirements/x.txt: GHSA-1, CVE-1: It is bad; no fixed release is recorded",
        "accepted_vulnerabilities.yaml: a-b 1.5: CVE-1: no lock has it: remove it",
    ]


def test_every_lock_is_read(root: Path) -> None:
    found = {(each.lock, each.name): each.version for each in locked_packages()}
    assert found[("requirements/horovod.txt", "horovod")] == "0.28.1"
    assert found[("requirements/cdk.txt", "aws-cdk-lib")].startswith("2.")
    assert ("package-lock.json", "aws-cdk") in found
    locks = {path.relative_to(root).as_posix() for path in (root / "requirements").glob("*.txt")}
    assert {lock for lock, _ in found} == locks | {"package-lock.json"}


def test_the_extract_has_the_advisories_of_the_locked_packages(tmp_path: Path) -> None:
    wanted = {"id": "GHSA-1", "aliases": ["CVE-1"], "details": "long", "affected": list(advisory().affected)}
    export = tmp_path / "all.zip"
    with zipfile.ZipFile(export, "w") as archive:
        archive.writestr("GHSA-1.json", json.dumps(wanted))
        archive.writestr("GHSA-2.json", json.dumps(wanted | {"id": "GHSA-2", "withdrawn": "2026-01-01T00:00:00Z"}))
        archive.writestr("GHSA-3.json", json.dumps(wanted | {"affected": list(advisory(name="other").affected)}))
    extract = tmp_path / "advisories.json"
    assert record([export], [locked("1.5")], date(2026, 11, 28), extract) == 1
    recorded, source, (only,) = read_advisories(extract)
    assert (recorded, source, only.id) == (date(2026, 11, 28), "OSV's export", "GHSA-1")
    assert only.names == {"GHSA-1", "CVE-1"}
    assert "long" not in extract.read_text()


def test_every_known_vulnerability_of_the_locks_is_accepted_with_a_reason() -> None:
    _, _, advisories = read_advisories()
    accepted = read_accepted()
    assert list(problems(advisories, locked_packages(), accepted)) == []
    assert all(len(entry.reason.split()) > 3 for entry in accepted)


def test_the_page_has_the_accepted_vulnerabilities_and_no_others(root: Path) -> None:
    page = (root / "docs/security.md").read_text()
    section = page[page.index("## Known vulnerabilities") :]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "](http" in line]
    accepted = read_accepted()
    assert set(re.findall(r"\[((?:CVE|GHSA)-[\w-]+)\]", "\n".join(rows))) == {entry.id for entry in accepted}
    for entry in accepted:
        (row,) = (row for row in rows if f"[{entry.id}]" in row)
        assert f"{entry.package} {entry.version}" in row
        assert entry.reason.rstrip(".") in row
