"""The folders of ConfigMaps and Secrets, as the kubelet writes them."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


class KubeletVolume:
    """A folder of a ConfigMap or a Secret: all files change at once, through one link.

    https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/util/atomic_writer.go
    """

    def __init__(self, folder: Path, group: int) -> None:
        self.folder = folder
        self._group = group
        self._version = 0
        folder.mkdir(parents=True)
        self._give(folder, 0o3777)

    def write(self, files: Mapping[str, tuple[bytes, int]]) -> None:
        """Replace the files: their bytes and modes by name."""
        self._version += 1
        before, version, link = self.folder / "..data", self.folder / f"..{self._version}", self.folder / "..data_tmp"
        version.mkdir()
        self._give(version, 0o2755)
        for name, (content, mode) in files.items():
            (version / name).write_bytes(content)
            self._give(version / name, mode)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        old = before.resolve()
        link.symlink_to(version.name)
        link.rename(before)
        if old != before:
            shutil.rmtree(old)

    def _give(self, path: Path, mode: int) -> None:
        os.chown(path, 0, self._group)
        path.chmod(mode)
