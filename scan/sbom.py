"""Write bills of materials of the wheel and the images in CycloneDX's format, from locks and Dockerfiles; `make sbom`.

https://cyclonedx.org/docs/1.6/json/ (read 2026-11-28). Debian's packages have no version: apt takes the newest.
"""

import argparse
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from scan.lock_files import ROOT, Locked, python_lock

__all__ = ["IMAGES", "apt_packages", "image", "wheel"]

_WHEEL = "cdk-training-cluster"
# By name on this machine: the Dockerfile, and the build arguments that make this image of it.
IMAGES: dict[str, tuple[str, dict[str, str]]] = {
    "training": ("training/Dockerfile", {}),
    "training-torch": ("training/torch.Dockerfile", {}),
    "training-torch-cuda12": ("training/torch.Dockerfile", {"LOCK": "torch-cuda12"}),
    "cuda-base": ("training/cuda/base.Dockerfile", {}),
}
# A lock of what only builds.
_TOOLS = ("uv",)
# Downloads of the Dockerfiles, by the arguments that name version and checksum; the first is checked by uv's own list.
_DOWNLOADS = {
    "python-build-standalone": ("PYTHON_VERSION", None),
    "aws-efa-installer": ("EFA_INSTALLER_VERSION", "EFA_INSTALLER_SHA256"),
    "nccl-tests": ("NCCL_TESTS_VERSION", "NCCL_TESTS_SHA256"),
}


def wheel() -> Bom:
    """Return the packages of the wheel and its extras as the lock has them; a user's resolver may take others."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    main = Component(
        name=_WHEEL, version=version, type=ComponentType.LIBRARY, purl=PackageURL("pypi", name=_WHEEL, version=version)
    )
    locked = list(python_lock(ROOT / "requirements/cdk.txt"))
    needed = {"pyproject.toml"}
    while more := {each.name for each in locked if each.needed_by & needed} - needed:
        needed |= more
    return _bom(main, (each for each in locked if each.name in needed), ())


def image(name: str, arguments: Mapping[str, str]) -> Bom:
    """Return the parts of an image.

    Args:
        name: One of `IMAGES`.
        arguments: Arguments of its build, as `docker build --build-arg` gets them.
    """
    path, own = IMAGES[name]
    text = (ROOT / path).read_text()
    given = {**dict(re.findall(r'^ARG (\w+)="?([^"\n]*)"?$', text, flags=re.M)), **own, **arguments}
    removed = {word for words in re.findall(r"pip uninstall --yes (.+)$", text, flags=re.M) for word in words.split()}
    named = re.findall(r"requirements/([\w${}-]+)\.txt", text)
    locks = [lock.replace("${LOCK}", given.get("LOCK", "")) for lock in named if lock not in _TOOLS]
    packages = [each for lock in locks for each in python_lock(ROOT / f"requirements/{lock}.txt")]
    parts = [
        _base(given["BASE_IMAGE"]),
        *(Component(name=each, purl=PackageURL("deb", "debian", each)) for each in apt_packages(text, given)),
        *_downloads(given),
    ]
    main = Component(name=name, type=ComponentType.CONTAINER)
    return _bom(main, (each for each in packages if each.name not in removed), parts)


def apt_packages(dockerfile: str, arguments: Mapping[str, str]) -> list[str]:
    """Return the names of the packages that apt installs in the last stage and in those that it starts from."""
    stages: dict[str, str] = {}
    for stage in re.split(r"^(?=FROM )", dockerfile, flags=re.M)[1:]:
        words = stage.partition("\n")[0].split()
        stages[words[3] if len(words) > 3 else ""] = stages.get(words[1], "") + stage
    joined = stages[""].replace("\\\n", " ")
    skipped = tuple(f'RUN if [ -n "${{{name}}}" ]' for name, value in arguments.items() if not value)
    runs = [line for line in joined.splitlines() if line.startswith("RUN ") and not line.startswith(skipped)]
    found = re.findall(r"apt-get install --yes --no-install-recommends ([\w .+-]+)", "\n".join(runs))
    return sorted({name for names in found for name in names.split()})


def _downloads(arguments: Mapping[str, str]) -> Iterator[Component]:
    for name, (version, checksum) in _DOWNLOADS.items():
        if given := arguments.get(version):
            hashes = [HashType(alg=HashAlgorithm.SHA_256, content=arguments[checksum])] if checksum else ()
            yield Component(name=name, version=given, type=ComponentType.APPLICATION, hashes=hashes)


def _base(address: str) -> Component:
    found = re.fullmatch(r"(?:(?P<path>.+)/)?(?P<name>[^/:@]+)(?::(?P<tag>[^/@]+))?(?:@(?P<digest>.+))?", address)
    assert found, address
    path, name, tag, digest = found.groups()
    qualifiers = {"tag": tag} if tag else None
    purl = PackageURL("docker", path, name, version=digest or tag, qualifiers=qualifiers)
    return Component(
        name=f"{path}/{name}" if path else name, version=digest or tag, type=ComponentType.CONTAINER, purl=purl
    )


def _bom(main: Component, locked: Iterable[Locked], parts: Iterable[Component]) -> Bom:
    bom = Bom()
    bom.metadata.component = main
    packages = {each: _package(each) for each in locked}
    by_name: dict[str, list[Component]] = {}
    for each, component in packages.items():
        by_name.setdefault(each.name, []).append(component)
    for component in (*packages.values(), *parts):
        bom.components.add(component)
    bom.register_dependency(main, bom.components)
    for each, component in packages.items():
        for name in each.needed_by & by_name.keys():
            for needs in by_name[name]:
                bom.register_dependency(needs, [component])
    return bom


def _package(locked: Locked) -> Component:
    purl = PackageURL("pypi", name=locked.name, version=locked.version)
    # The hashes are those of its files, of which an installation takes one.
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(purl)),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in locked.sha256],
    )
    return Component(
        name=locked.name, version=locked.version, bom_ref=str(purl), purl=purl, external_references=[files]
    )


def main() -> None:
    """Write the files into dist/sbom/."""
    parser = argparse.ArgumentParser(prog="make sbom", description=__doc__)
    parser.add_argument("--build-arg", action="append", default=[], help="NAME=VALUE, as the image was built")
    given: dict[str, Any] = dict(each.split("=", 1) for each in parser.parse_args().build_arg)
    folder = ROOT / "dist/sbom"
    folder.mkdir(parents=True, exist_ok=True)
    for name, bom in {_WHEEL: wheel(), **{name: image(name, given) for name in IMAGES}}.items():
        path = folder / f"{name}.cdx.json"
        path.write_text(JsonV1Dot6(bom).output_as_string(indent=1))
        print(f"{len(bom.components):4} components in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
