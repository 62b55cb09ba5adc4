"""Render every recipe, and the platform with every part and volume."""

from pathlib import Path
from typing import Any

from training_workloads.platform.file_systems import EfsAttributes, LustreAttributes
from training_workloads.platform.platform_spec import PlatformSpec
from training_workloads.recipes import NEEDS, RECIPES, recipe
from training_workloads.rendering import render_jobs, render_platform

__all__ = ["render_everything"]

# Placeholders for values that only a user knows.
_NEEDED = {"source": "s3://bucket/data/", "service_account": "training"}
# As `trainctl image push` records it.
_IMAGE = f"111122223333.dkr.ecr.us-west-2.amazonaws.com/training:1.0@sha256:{'0' * 64}"
_LUSTRE = LustreAttributes(
    file_system_id="fs-0123456789abcdef0",
    dns_name="fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
    mount_name="abcd1234",
    capacity_gib=1200,
)
_EFS = EfsAttributes(file_system_id="fs-01234567", access_point_id="fsap-0123456789abcdef0")


def render_everything(folder: Path) -> list[Path]:
    """Write the manifests into subfolders of a folder, and return their paths.

    Args:
        folder: An empty folder.
    """
    needed: dict[str, dict[str, Any]] = {
        name: {field: _NEEDED[field] for field in NEEDS.get(name, ())} for name in RECIPES
    }
    jobs, _ = render_jobs((recipe(name, image=_IMAGE, **needed[name]) for name in RECIPES), folder / "jobs")
    platform, _ = render_platform(PlatformSpec(lustre=_LUSTRE, efs=_EFS), folder / "platform")
    return [*jobs, *platform]
