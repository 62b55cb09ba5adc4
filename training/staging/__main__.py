"""Brings a dataset from S3 onto the shared file system, and verifies every file.

python -m training.staging copy --source s3://bucket/imagenet --target /efs/data/imagenet
python -m training.staging preload --source s3://bucket/imagenet --target /fsx/data/imagenet

`preload` is for Lustre that is linked to the bucket: the files are there, and reading them brings their content. Both
may be stopped at any time and started again. Exits with 0 where every file is right, with 1 where some are not, and
with 2 for what must be mended first.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import FrameType

from training.runtime import command_line
from training.runtime.errors import UserError
from training.staging import pool, s3, source, stage
from training.staging.progress import Progress
from training.staging.records import Records

_ACTIONS = {"copy": stage.copy, "preload": stage.preload}


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line."""
    parser = command_line.Parser(prog="python -m training.staging", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("mode", choices=_ACTIONS, help="copy: download; preload: read what a linked Lustre shows already")
    add("--source", type=source.parse, required=True, help="s3://bucket/prefix")
    add("--target", type=Path, required=True, help="folder on the shared file system")
    add("--workers", type=command_line.whole_number(1), default=16, help="files at once (%(default)s)")
    add("--shards", type=command_line.whole_number(1), default=1, help="pods that share the work (%(default)s)")
    add("--progress-seconds", type=command_line.whole_number(1), default=10, help="between two lines (%(default)s)")
    return parser.parse_args(arguments)


def prepare_target(target: Path, mode: str) -> None:
    """Makes the target where it may be made, and refuses one that is not on a shared file system.

    Raises:
        UserError: It is not there, not mounted, or not writable.
    """
    existing = next(path for path in [target.absolute(), *target.absolute().parents] if path.is_dir())
    if "KUBERNETES_SERVICE_HOST" in os.environ and not _is_mounted(existing.resolve()):
        raise UserError(
            f"'--target' is {target}, which is on the container's own disk and would go with it; "
            "mount the shared file system there, or give a folder on it"
        )
    if mode == "preload" and not target.is_dir():
        raise UserError(f"'--target' is {target}, which is not there; give the folder that Lustre shows for '--source'")
    try:
        probe = target.absolute() / source.RECORDS / ".writable"
        stage.make_folder(existing, probe.parent)
        probe.write_bytes(b"")
        # Another pod may have been faster.
        probe.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"'--target' is {target}, where user {os.getuid()} cannot write ({error.strerror}); "
            "give this user the folder, or another one"
        ) from error


def _is_mounted(folder: Path) -> bool:
    """Whether a file system other than the root's lies at the folder or above it."""
    return any(path.is_mount() for path in [folder, *folder.parents][:-1])


def run(given: argparse.Namespace, stop: threading.Event) -> int:
    """Stages this pod's share and returns the exit code."""
    share = source.share(given.shards)
    prepare_target(given.target, given.mode)
    with s3.in_the_users_words(str(given.source)), closing(s3.make_client(given.workers)) as client:
        listing = source.listing(client, given.source)
        items = share.of(listing.items)
        print(
            f"{given.mode} {given.source} to {given.target}: {len(listing.items):,} files, "
            f"{sum(item.size for item in listing.items) / 1e9:,.1f} GB; share {share.index + 1} of {share.count} "
            f"with {given.workers} workers",
            flush=True,
        )
        target, progress = given.target.absolute(), Progress(items)
        if given.mode == "copy":
            for folder in listing.folders:
                stage.make_folder(target, target / folder)
        with Records(target, share) as records:
            work = stage.Stage(client, given.source, target, records, progress, stop)
            outcome = pool.run(work, items, _ACTIONS[given.mode], given.workers, given.progress_seconds)
    print(progress.line(), flush=True)
    if outcome.failure:
        raise outcome.failure
    return _verdict(progress, share, outcome, stopped=stop.is_set())


def _verdict(progress: Progress, share: source.Share, outcome: pool.Outcome, *, stopped: bool) -> int:
    if stopped:
        print("stopped; a new start goes on from here", flush=True)
        return 1
    print(f"share {share.index + 1} of {share.count}: {progress.summary()}", flush=True)
    if outcome.bad:
        print(f"FAIL: {len(outcome.bad):,} files are not what S3 holds:", flush=True)
        for sentence in sorted(outcome.bad):
            print(f"  {sentence}", flush=True)
        return 1
    print("PASS: every file is here and right", flush=True)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to the exit code."""
    stop, signals = threading.Event(), []

    def on_signal(number: int, _: FrameType | None) -> None:
        signals.append(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    try:
        code = run(parse_options(arguments), stop)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    return 128 + signals[0] if signals else code


if __name__ == "__main__":
    sys.exit(main())
