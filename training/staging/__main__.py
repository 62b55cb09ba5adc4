"""Stage a dataset from S3 on the shared file system, and verify every file.

python -m training.staging copy --source s3://bucket/imagenet --target /efs/data/imagenet
python -m training.staging preload --source s3://bucket/imagenet --target /fsx/data/imagenet

`preload` is for Lustre with a data repository in the bucket: the files exist, and reading them loads their content.
Both modes can be stopped at any time, and resume with the same command. The exit code is 0 if every file is verified, 1
if some are not, and 2 for an input error.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from training.runtime import command_line, files, options
from training.runtime.command_line import path, whole_number
from training.runtime.errors import USER_ERROR, UserError
from training.runtime.options import option
from training.staging import s3_source, transfer
from training.staging.s3_source import Share, Source
from training.staging.staging_progress import Progress
from training.staging.verified_files import VerifiedFiles

_ACTIONS = {"copy": transfer.copy, "preload": transfer.preload}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    mode: str = option(
        tuple(_ACTIONS), "copy: download; preload: read the files that a linked Lustre has", positional=True
    )
    source: Source = option(s3_source.parse, "s3://bucket/prefix")
    target: Path = option(path, "folder on the shared file system")
    workers: int = option(whole_number(1), "files at the same time", default=16)
    shards: int = option(whole_number(1), "pods that share the files", default=1)
    progress_seconds: int = option(whole_number(1), "between two progress lines", default=10)
    progress_folder: Path = option(path, "records verified files (default: .staged in the target)", default=None)

    def __post_init__(self) -> None:
        """Choose the folder of the records where none is given."""
        object.__setattr__(self, "progress_folder", self.progress_folder or self.target / s3_source.STATE_FOLDER)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.staging", __doc__, arguments)


def prepare_target(target: Path, mode: str) -> None:
    """Create the target of a copy, and reject one that is not on a shared file system.

    Raises:
        UserError: It does not exist, is not mounted, or is not writable.
    """
    existing = next(path for path in [target.absolute(), *target.absolute().parents] if path.is_dir())
    if "KUBERNETES_SERVICE_HOST" in os.environ and not _is_mounted(existing.resolve()):
        raise UserError(
            f"'--target' is {target}, which is on the container's disk and would be deleted with it; "
            "mount the shared file system there, or give a folder on it"
        )
    if mode == "preload" and not target.is_dir():
        raise UserError(f"'--target' is {target}, which does not exist; give the folder that Lustre has for '--source'")
    if mode == "copy":
        _make_writable_folder("--target", target)


def _make_writable_folder(option: str, folder: Path) -> None:
    existing = next(path for path in [folder.absolute(), *folder.absolute().parents] if path.is_dir())
    try:
        transfer.make_folder(existing, folder.absolute())
    except OSError as error:
        raise files.unwritable(folder, error, option=option) from error
    files.make_writable(folder, option=option)


def _is_mounted(folder: Path) -> bool:
    """Return whether the folder is on a file system other than the root's."""
    return any(path.is_mount() for path in [folder, *folder.parents][:-1])


def run(settings: Settings, stop: threading.Event) -> int:
    """Stage this pod's share and return the exit code."""
    share = s3_source.share(settings.shards)
    prepare_target(settings.target, settings.mode)
    _make_writable_folder("--progress-folder", settings.progress_folder)
    with s3_source.user_errors(str(settings.source)), closing(s3_source.make_client(settings.workers)) as client:
        listing = s3_source.listing(client, settings.source)
        items = share.of(listing.items)
        print(
            f"{settings.mode} {settings.source} to {settings.target}: {len(listing.items):,} files, "
            f"{sum(item.size for item in listing.items) / 1e9:,.1f} GB; share {share.index + 1} of {share.count} "
            f"with {settings.workers} workers",
            flush=True,
        )
        target, progress = settings.target.absolute(), Progress(items)
        if settings.mode == "copy":
            for folder in listing.folders:
                transfer.make_folder(target, target / folder)
        with VerifiedFiles(settings.progress_folder, share) as verified:
            work = transfer.Transfer(client, settings.source, target, verified, progress, stop)
            outcome = transfer.run(work, items, _ACTIONS[settings.mode], settings.workers, settings.progress_seconds)
    print(progress.line(), flush=True)
    if outcome.failure:
        raise outcome.failure
    return _verdict(progress, share, outcome, stopped=stop.is_set())


def _verdict(progress: Progress, share: Share, outcome: transfer.Outcome, *, stopped: bool) -> int:
    if stopped:
        print("stopped; the same command resumes", flush=True)
        return 1
    print(f"share {share.index + 1} of {share.count}: {progress.summary()}", flush=True)
    if outcome.mismatches:
        print(f"FAIL: {len(outcome.mismatches):,} files differ from S3:", flush=True)
        for sentence in sorted(outcome.mismatches):
            print(f"  {sentence}", flush=True)
        return 1
    print("PASS: every file is verified", flush=True)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    stop, signals = threading.Event(), list[int]()

    def on_signal(number: int, _: FrameType | None) -> None:
        signals.append(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    code = command_line.exit_code(lambda: run(parse(arguments), stop))
    return 128 + signals[0] if signals and code != USER_ERROR else code


if __name__ == "__main__":
    sys.exit(main())
