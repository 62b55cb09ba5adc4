"""The training image, built on this machine from nothing but Debian's and Python's packages."""

import ast
import configparser
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

from tests.containers.podman import SYSTEM_PATH, Podman

# No image registry is needed: the base is made from the packages.
BASE = "localhost/training-base:bookworm"
RELEASE = "bookworm"
# A machine may have certificates of its own, for the network that it is in.
CERTIFICATES = Path("/etc/ssl/certs")


def make_base(podman: Podman) -> None:
    """Makes the base image: a minimal Debian 12. It is made once."""
    if BASE in podman("images", "--format", "{{.Repository}}:{{.Tag}}").splitlines():
        return
    root, archive = podman.folder / "base", podman.folder / "base.tar"
    shutil.rmtree(root, ignore_errors=True)
    _run("debootstrap", "--variant=minbase", RELEASE, str(root), *_debian_mirror())
    _run("tar", "--directory", str(root), "--create", "--file", str(archive), ".")
    podman("import", archive, BASE)
    shutil.rmtree(root)
    archive.unlink()


def build(podman: Podman, repository: Path, tag: str) -> None:
    """Builds training/Dockerfile on that base; layers that did not change are taken from the build before."""
    podman.log(
        podman.folder / "build.log",
        *("build", "--network", "host", "--layers", "--file", f"{repository}/training/Dockerfile"),
        *("--ignorefile", f"{repository}/training/Dockerfile.dockerignore"),
        *("--build-arg", f"BASE_IMAGE={BASE}", "--tag", tag, *_volumes(podman.folder), str(repository)),
    )


def _run(*command: str) -> None:
    done = subprocess.run(command, env=os.environ | {"PATH": SYSTEM_PATH}, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def _output(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _debian_mirror() -> list[str]:
    """The mirror that this machine's apt takes the release from; none if debootstrap has to use its default."""
    targets = _output(
        "apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"
    )
    prefix = f"Debian {RELEASE} "
    return [target.removeprefix(prefix) for target in targets if target.startswith(prefix)][:1]


def _volumes(folder: Path) -> Iterator[str]:
    """What lets apt and pip reach their packages in the build as on this machine; none of it is in the image."""
    pip, apt = folder / "pip.conf", folder / "apt.conf"
    settings = _pip_settings()
    for path in (pip, apt):
        path.touch(mode=0o600)
    with pip.open("w") as stream:
        settings.write(stream)
    lines = [line for tree in ("http", "https") for line in _output("apt-config", "dump", f"Acquire::{tree}")]
    apt.write_text("\n".join(lines))
    yield from ("--volume", f"{pip}:/etc/pip.conf:ro", "--volume", f"{apt}:/etc/apt/apt.conf.d/95this-machine:ro")
    # With an overlay, because a package may want to write there.
    yield from ("--volume", f"{CERTIFICATES}:{CERTIFICATES}:O")
    for path in sorted(_named_in(settings)):
        yield from ("--volume", f"{path}:{path}:ro")


def _pip_settings() -> configparser.RawConfigParser:
    """This machine's settings of pip, those of its variables too, as one file."""
    settings = configparser.RawConfigParser()
    for line in _output(sys.executable, "-m", "pip", "config", "list"):
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        # pip lists PIP_… variables last, as a section that no file can have; they win over the files.
        section = "global" if section == ":env:" else section
        if not settings.has_section(section):
            settings.add_section(section)
        settings.set(section, key, str(ast.literal_eval(value)))
    return settings


def _named_in(settings: configparser.RawConfigParser) -> set[Path]:
    """Local files and folders that the settings name, outside the certificates."""
    found = set()
    for section in settings.sections():
        for key, value in settings.items(section):
            for word in value.split():
                path = Path(urlparse(word).path if word.startswith("file://") else word)
                if path.is_absolute() and path.exists() and not path.is_relative_to(CERTIFICATES):
                    # The links of an index lead to a folder beside it.
                    found.add(path.parent if key.endswith("index-url") else path)
    return found
