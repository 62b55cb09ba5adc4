"""The training image, built on this machine only from Debian's and Python's packages."""

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

# The base is built from packages, without an image registry.
BASE = "localhost/training-base:bookworm"
RELEASE = "bookworm"
# A machine may have certificates for its network.
CERTIFICATES = Path("/etc/ssl/certs")


def make_base(podman: Podman) -> None:
    """Build the base image once: a minimal Debian 12."""
    if BASE in podman("images", "--format", "{{.Repository}}:{{.Tag}}").splitlines():
        return
    root, archive = podman.folder / "base", podman.folder / "base.tar"
    shutil.rmtree(root, ignore_errors=True)
    _run("debootstrap", "--variant=minbase", RELEASE, str(root), *_debian_mirror())
    _run("tar", "--directory", str(root), "--create", "--file", str(archive), ".")
    podman("import", archive, BASE)
    shutil.rmtree(root)
    archive.unlink()


def build(
    podman: Podman, repository: Path, tag: str, *, dockerfile: str = "training/Dockerfile", base: str = BASE
) -> None:
    """Build a Dockerfile on a base; unchanged layers come from the previous build."""
    podman.log(
        podman.folder / "build.log",
        *("build", "--network", "host", "--layers", "--file", f"{repository}/{dockerfile}"),
        *("--ignorefile", f"{repository}/{dockerfile}.dockerignore"),
        *("--build-arg", f"BASE_IMAGE={base}", "--tag", tag, *_volumes(podman.folder), str(repository)),
    )


def _run(*command: str) -> None:
    done = subprocess.run(command, env=os.environ | {"PATH": SYSTEM_PATH}, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def _output(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _debian_mirror() -> list[str]:
    """Return the mirror from which this machine's apt installs the release; empty for debootstrap's default."""
    targets = _output(
        "apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"
    )
    prefix = f"Debian {RELEASE} "
    return [target.removeprefix(prefix) for target in targets if target.startswith(prefix)][:1]


def _volumes(folder: Path) -> Iterator[str]:
    """Yield the volumes with this machine's settings of apt and pip for the build; they are not in the image."""
    pip, apt = folder / "pip.conf", folder / "apt.conf"
    settings = _pip_settings()
    for path in (pip, apt):
        path.touch(mode=0o600)
    with pip.open("w") as stream:
        settings.write(stream)
    lines = [line for tree in ("http", "https") for line in _output("apt-config", "dump", f"Acquire::{tree}")]
    apt.write_text("\n".join(lines))
    yield from ("--volume", f"{pip}:/etc/pip.conf:ro", "--volume", f"{apt}:/etc/apt/apt.conf.d/95this-machine:ro")
    # With an overlay, because a package may write there.
    yield from ("--volume", f"{CERTIFICATES}:{CERTIFICATES}:O")
    for path in sorted(_named_in(settings)):
        yield from ("--volume", f"{path}:{path}:ro")


def _pip_settings() -> configparser.RawConfigParser:
    """Return this machine's settings of pip, with those of its variables."""
    settings = configparser.RawConfigParser()
    for line in _output(sys.executable, "-m", "pip", "config", "list"):
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        # pip lists PIP_… variables last, as a section that no file has; they override the files.
        section = "global" if section == ":env:" else section
        if not settings.has_section(section):
            settings.add_section(section)
        settings.set(section, key, str(ast.literal_eval(value)))
    return settings


def _named_in(settings: configparser.RawConfigParser) -> set[Path]:
    """Return local files and folders in the settings, except certificates."""
    found = set()
    for section in settings.sections():
        for key, value in settings.items(section):
            for word in value.split():
                path = Path(urlparse(word).path if word.startswith("file://") else word)
                if path.is_absolute() and path.exists() and not path.is_relative_to(CERTIFICATES):
                    # The links of an index point to an adjacent folder.
                    found.add(path.parent if key.endswith("index-url") else path)
    return found
