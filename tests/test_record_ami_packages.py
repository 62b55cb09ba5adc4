"""What is taken from the changelog of the AMI."""

import json
from pathlib import Path
from typing import Any

import pytest

from setup import record_ami_packages
from setup.record_ami_packages import main, recorded_packages

# In the form of the changelog of 2025-05-19: an empty cell is a dash, and a version can span several AMIs.
PACKAGES = """
  <table>
    <tr>
      <th>AMI Names</th>
      <th>Release version</th>
    <tr>
      <td>amazon-eks-node-al2023-x86_64-nvidia-1.99-v20991231</td>
      <td rowspan="5">1.99.1-20991231</td>
    </tr>
  </table>
  <table>
    <tr>
      <th>Package</th>
      <th>AL2023_x86_64_NVIDIA</th>
      <th>AL2023_x86_64_NEURON</th>
      <th>AL2023_x86_64_STANDARD</th>
    </tr>
    <tr>
      <td>containerd</td>
      <td colspan="3">1.7.27-1.amzn2023.0.2</td>
    </tr>
    <tr>
      <td>efa</td>
      <td colspan="2">2.15.0-1.amzn2023</td>
      <td colspan="1">—</td>
    </tr>
    <tr>
      <td>ena</td>
      <td colspan="3">2.13.2g</td>
    </tr>
    <tr>
      <td>kernel6.12</td>
      <td colspan="3">KERNEL.amzn2023</td>
    </tr>
    <tr>
      <td>kmod-nvidia-latest-dkms</td>
      <td colspan="1">570.133.20-1.amzn2023</td>
      <td colspan="2">—</td>
    </tr>
    <tr>
      <td>nvidia-container-toolkit</td>
      <td colspan="1">1.17.7-1</td>
      <td colspan="2">—</td>
    </tr>
  </table>
"""


def section(kubernetes: str, kernel: str) -> str:
    return f"<summary><b>Kubernetes {kubernetes}</b></summary>{PACKAGES.replace('KERNEL', kernel)}"


CHANGELOG = (
    f"# Changelog\n\n# AMI Release v20991231\n{section('1.99', '6.18.1-1.2')}{section('1.100', '6.18.1-1.2')}"
    f"\n\n# AMI Release v20991201\n{section('1.98', '6.12.9-3.4')}"
)


def test_the_packages_of_each_ami_are_taken_with_their_kubernetes_releases() -> None:
    gpu, system, *older = recorded_packages(CHANGELOG)
    assert gpu == {
        "release": 20991231,
        "amis": ["nvidia"],
        "kubernetes_versions": ["1.99", "1.100"],
        "packages": {
            "driver": "570.133.20-1",
            "efa": "2.15.0-1",
            "ena": "2.13.2g",
            "kernel": "6.18.1-1.2",
            "toolkit": "1.17.7-1",
        },
        "source": "https://github.com/awslabs/amazon-eks-ami/releases/tag/v20991231",
    }
    assert (system["amis"], system["packages"]) == (["standard"], {"ena": "2.13.2g", "kernel": "6.18.1-1.2"})
    assert [(row["release"], row["packages"]["kernel"]) for row in older] == [(20991201, "6.12.9-3.4")] * 2


def test_rows_of_other_releases_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, changelog = tmp_path / "ami_packages.json", tmp_path / "CHANGELOG.md"
    row: dict[str, Any] = {"amis": ["nvidia"], "packages": {}, "source": "x"}
    by_hand = [row | {"release": each} for each in (20991201, 20991215)]
    file.write_text(json.dumps({"releases": by_hand}))
    changelog.write_text(CHANGELOG)
    monkeypatch.setattr(record_ami_packages, "_FILE", file)
    main(str(changelog))
    written = json.loads(file.read_text())
    assert written["recorded_by"] == "CHANGELOG.md of awslabs/amazon-eks-ami up to 20991231"
    assert [row["release"] for row in written["releases"]] == [20991201, 20991201, 20991215, 20991231, 20991231]
    assert written["releases"][2] == by_hand[1]


def test_a_file_without_tables_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Changelog\n")
    with pytest.raises(SystemExit, match=r"has no tables of packages; give CHANGELOG\.md of"):
        main(str(tmp_path / "other.md"))
