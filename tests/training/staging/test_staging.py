import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.training.s3_server import S3Server
from training.staging import __main__ as staging
from training.staging import transfer
from training.staging.s3_source import STATE_FOLDER, Item

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def filled(s3: S3Server) -> dict[str, bytes]:
    """Twelve files of a dataset in s3://data/set, by their paths."""
    contents = {f"{split}/{number}": os.urandom(1000 + number) for split in ("train", "test") for number in range(6)}
    put(s3, contents, ChecksumAlgorithm="CRC64NVME")
    return contents


def put(s3: S3Server, contents: dict[str, bytes], **options: str) -> None:
    for path, content in contents.items():
        s3.client.put_object(Bucket="data", Key=f"set/{path}", Body=content, **options)


def put_in_parts(s3: S3Server, path: str, parts: list[bytes], **options: str) -> None:
    client, where = s3.client, {"Bucket": "data", "Key": f"set/{path}"}
    upload = client.create_multipart_upload(**where, **options)["UploadId"]
    tags = [
        client.upload_part(**where, UploadId=upload, PartNumber=number, Body=part)["ETag"]
        for number, part in enumerate(parts, start=1)
    ]
    uploaded = {"Parts": [{"ETag": tag, "PartNumber": number} for number, tag in enumerate(tags, start=1)]}
    client.complete_multipart_upload(**where, UploadId=upload, MultipartUpload=uploaded)


def run(mode: str, target: Path, *arguments: str, source: str = "s3://data/set") -> int:
    return staging.main([mode, "--source", source, "--target", str(target), *arguments])


def files(target: Path) -> dict[str, bytes]:
    return {path: (target / path).read_bytes() for path in names(target)}


def names(target: Path) -> list[str]:
    """Return all files, also incomplete ones, without the logs of verified files."""
    paths = [path for path in target.rglob("*") if path.is_file()]
    return [str(path.relative_to(target)) for path in paths if STATE_FOLDER not in path.parts]


def write(target: Path, contents: dict[str, bytes]) -> None:
    for path, content in contents.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)


# ------------------------------------------------------------------------------------------------------------ copy


def test_copies_all_files_and_prints_a_summary(
    filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("copy", tmp_path / "set", "--workers", "3") == 0
    assert files(tmp_path / "set") == filled
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"copy s3://data/set/ to {tmp_path}/set: 12 files, 0.0 GB; share 1 of 1 with 3 workers"
    assert lines[1].startswith("12/12 files, 0.0/0.0 GB, ")
    assert lines[2:] == [
        "share 1 of 1: 12 files, 0.0 GB: 12 by CRC64NVME",
        "PASS: every file is verified",
    ]


def test_verifies_each_kind_of_checksum(s3: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for algorithm in ("CRC64NVME", "CRC32C", "CRC32", "SHA256", "SHA1"):
        put(s3, {algorithm: os.urandom(5_000_000)}, ChecksumAlgorithm=algorithm)
    put(s3, {"etag": os.urandom(5_000_000), "empty": b""})
    put(s3, {"kms": os.urandom(5_000_000)}, ServerSideEncryption="aws:kms", SSEKMSKeyId="key")
    put_in_parts(s3, "parts", [os.urandom(5 * 2**20), os.urandom(5 * 2**20), b"rest"])
    put_in_parts(s3, "parts-sha", [os.urandom(5 * 2**20), b"rest"], ChecksumAlgorithm="SHA256")
    put_in_parts(s3, "uneven", [os.urandom(5 * 2**20), os.urandom(6 * 2**20), b"rest"])
    for mode in ("copy", "preload"):
        assert run(mode, tmp_path / "set") == 0
        assert capsys.readouterr().out.splitlines()[-2] == (
            "share 1 of 1: 11 files, 0.1 GB: 2 by MD5, 2 by MD5 of parts, 1 by CRC32, 1 by CRC32C, 1 by CRC64NVME, "
            "1 by SHA1, 1 by SHA256, 1 by SHA256 of parts, 1 by size only"
        )
        for log in (tmp_path / "set" / ".staged").iterdir():
            log.unlink()


@pytest.mark.parametrize("kind", ["CRC64NVME", "SHA256", "etag", "parts"])
def test_reports_and_deletes_a_file_that_was_changed_on_its_way(
    s3: S3Server, filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    if kind == "parts":
        put_in_parts(s3, "train/bad", [bytes(5 * 2**20), b"rest"])
    else:
        put(s3, {"train/bad": b"x" * 100_000}, **({} if kind == "etag" else {"ChecksumAlgorithm": kind}))
    s3.flipped.add("set/train/bad")
    assert run("copy", tmp_path / "set") == 1
    assert files(tmp_path / "set") == filled
    out = capsys.readouterr().out
    assert "mismatch: train/bad does not match its " in out
    assert "\nFAIL: 1 files differ from S3:\n  train/bad does not match its " in out
    s3.flipped.clear()
    assert run("copy", tmp_path / "set") == 0
    assert s3.gets == {f"set/{path}": 1 for path in filled} | {"set/train/bad": 2}


def test_fetches_only_missing_and_changed_files(s3: S3Server, filled: dict[str, bytes], tmp_path: Path) -> None:
    assert run("copy", tmp_path) == 0
    assert run("copy", tmp_path) == 0
    assert set(s3.gets.values()) == {1}
    (tmp_path / "test/1").unlink()
    (tmp_path / "test/2").write_bytes(bytes(1002))
    (tmp_path / "test/3").write_bytes(b"short")
    new = {"test/4": os.urandom(1004), "test/5": b"other"}
    put(s3, new)
    assert run("copy", tmp_path) == 0
    assert files(tmp_path) == filled | new
    assert {key for key, count in s3.gets.items() if count == 2} == {f"set/test/{number}" for number in range(1, 6)}


def test_fetches_the_file_of_a_damaged_log_line(s3: S3Server, filled: dict[str, bytes], tmp_path: Path) -> None:
    assert run("copy", tmp_path, "--workers", "1") == 0
    (log,) = (tmp_path / ".staged").iterdir()
    log.write_bytes(log.read_bytes()[:-20])
    assert run("copy", tmp_path) == 0
    assert run("copy", tmp_path) == 0
    assert sum(s3.gets.values()) == 13


def test_retries_a_broken_connection(s3: S3Server, filled: dict[str, bytes], tmp_path: Path) -> None:
    s3.broken["set/train/1"] = 2
    assert run("copy", tmp_path) == 0
    assert files(tmp_path) == filled
    assert s3.gets["set/train/1"] == 3


def test_all_users_can_read_the_files_whatever_the_umask(
    s3: S3Server, filled: dict[str, bytes], tmp_path: Path
) -> None:
    put(s3, {"empty/folder/": b""})
    before = os.umask(0o077)
    try:
        assert run("copy", tmp_path / "new" / "set") == 0
    finally:
        os.umask(before)
    made = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o755}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file() and path.suffix != ".jsonl"} == {0o644}
    assert (tmp_path / "new/set/empty/folder").is_dir()


def test_workers_fetch_at_the_same_time(s3: S3Server, filled: dict[str, bytes], tmp_path: Path) -> None:
    s3.seconds_per_get = 0.2
    assert run("copy", tmp_path, "--workers", "6") == 0
    assert s3.most_at_once >= 4


def test_the_pods_of_an_indexed_job_share_the_files(
    s3: S3Server, filled: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index, names in (("0", ["0", "3"]), ("1", ["1", "4"]), ("2", ["2", "5"])):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", index)
        before = set(files(tmp_path))
        assert run("copy", tmp_path, "--shards", "3") == 0
        assert set(files(tmp_path)) - before == {f"{split}/{name}" for split in ("train", "test") for name in names}
    assert files(tmp_path) == filled
    # With another number of pods, the logs of all of them count.
    monkeypatch.delenv("JOB_COMPLETION_INDEX")
    assert run("copy", tmp_path) == 0
    assert set(s3.gets.values()) == {1}


# --------------------------------------------------------------------------------------------------------- preload


def test_preload_reads_and_verifies_existing_files(
    s3: S3Server, filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, filled)
    assert run("preload", tmp_path) == 0
    assert "share 1 of 1: 12 files, 0.0 GB: 12 by CRC64NVME\nPASS" in capsys.readouterr().out
    assert not s3.gets


def test_preload_reports_every_file_that_differs_from_s3(
    filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, filled)
    (tmp_path / "test/1").unlink()
    (tmp_path / "test/2").write_bytes(bytes(1002))
    (tmp_path / "test/3").write_bytes(bytes(2000))
    assert run("preload", tmp_path) == 1
    assert capsys.readouterr().out.splitlines()[-5:] == [
        "share 1 of 1: 12 files, 0.0 GB: 9 by CRC64NVME",
        "FAIL: 3 files differ from S3:",
        "  test/1 is in S3 but not here; check that a data repository links the file system to it, and its import",
        "  test/2 does not match its CRC64NVME in S3",
        "  test/3 has 2,000 bytes here, but 1,003 in S3",
    ]


def test_preload_reads_a_released_file_again(
    filled: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, filled)
    assert run("preload", tmp_path) == 0
    read: list[str] = []
    real = transfer._verify

    def recorded(work: transfer.Transfer, item: Item, *others: Any) -> str:
        read.append(item.path)
        return real(work, item, *others)

    monkeypatch.setattr(transfer, "_verify", recorded)
    assert run("preload", tmp_path) == 0
    assert not read
    monkeypatch.setattr(transfer, "is_loaded", lambda found: False)
    assert run("preload", tmp_path) == 0
    assert len(read) == 12


def test_preload_writes_nothing_into_the_folder_that_lustre_gives_to_root(
    filled: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, progress = tmp_path / "data", tmp_path / "runs/.staged/data"
    write(target, filled)
    before = sorted(target.rglob("*"))
    assert run("preload", target, "--progress-folder", str(progress)) == 0
    assert sorted(target.rglob("*")) == before
    assert [path.name for path in progress.iterdir()] == ["0-of-1.jsonl"]
    monkeypatch.setattr(transfer, "_verify", None)
    assert run("preload", target, "--progress-folder", str(progress)) == 0


def test_rejects_a_folder_for_its_progress_that_is_not_writable(
    filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, filled)
    assert run("preload", tmp_path, "--progress-folder", str(tmp_path / "test/1/x")) == 2
    assert capsys.readouterr().err.startswith(f"error: '--progress-folder' is {tmp_path}/test/1/x, where user ")


def test_a_file_with_one_block_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(bytes(10_000))
    with (tmp_path / "released").open("wb") as file:
        file.truncate(10_000)
    assert transfer.is_loaded((tmp_path / "full").stat())
    assert not transfer.is_loaded((tmp_path / "released").stat())


# ------------------------------------------------------------------------------------------------------------ stop


def start(s3: S3Server, target: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "training.staging", "copy", "--source", "s3://data/set", "--workers", "2"]
    return subprocess.Popen(
        [*command, "--target", str(target), "--progress-seconds", "1"],
        cwd=ROOT,
        env={**os.environ, **s3.environment},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_run_resumes(
    s3: S3Server, filled: dict[str, bytes], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    s3.seconds_per_get = 0.2
    with start(s3, tmp_path) as process:
        deadline = time.monotonic() + 60
        while sum(not name.endswith(".partial") for name in names(tmp_path)) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        stopped = time.monotonic()
        out = process.communicate(timeout=60)[0]
    assert process.returncode == code
    assert time.monotonic() - stopped < 30
    left = {path: content for path, content in files(tmp_path).items() if not path.endswith(".partial")}
    assert 4 <= len(left) < 12
    assert left.items() <= filled.items()
    if number is not signal.SIGKILL:
        assert out.endswith("stopped; the same command resumes\n")
        assert files(tmp_path) == left
    s3.seconds_per_get = 0
    before = sum(s3.gets.values())
    assert run("copy", tmp_path) == 0
    assert files(tmp_path) == filled
    assert sum(s3.gets.values()) - before <= 12 - len(left) + 2


def test_prints_the_progress(s3: S3Server, filled: dict[str, bytes], tmp_path: Path) -> None:
    s3.seconds_per_get = 0.4
    with start(s3, tmp_path) as process:
        lines = process.communicate(timeout=60)[0].splitlines()
    assert process.returncode == 0
    assert len(lines) >= 1 + 2 + 3
    assert " files, 0.0/0.0 GB, " in lines[2]
    assert lines[2].endswith(" minutes left")


# -------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("denied", "message"),
    [
        ({}, "'--source' is s3://data/set/, which has no files; give a folder with files"),
        ({"data": "NoSuchBucket"}, "'--source' is s3://data/set/, but there is no such bucket; give one that exists"),
        (
            {"data": "AccessDenied"},
            "S3 denies ListObjectsV2 for s3://data/set/ (AccessDenied); allow the role of the pod's",
        ),
        ({"data": "Strange"}, "S3 answers ListObjectsV2 for s3://data/set/ with Strange: from the test"),
    ],
)
def test_reports_a_source_that_cannot_be_listed(
    s3: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], denied: dict[str, str], message: str
) -> None:
    s3.denied.update(denied)
    assert run("copy", tmp_path) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_an_object_without_permission_ends_the_run(
    s3: S3Server, filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.denied["set/train/5"] = "AccessDenied"
    assert run("copy", tmp_path, "--workers", "1") == 2
    assert "error: S3 denies GetObject for s3://data/set/train/5 (AccessDenied); allow" in capsys.readouterr().err
    s3.denied.clear()
    assert run("copy", tmp_path) == 0
    assert set(s3.gets.values()) == {1}


def test_reports_missing_credentials_with_the_service_account(
    s3: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    assert run("copy", tmp_path) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: there are no AWS credentials to read s3://data/set/ with (")
    assert message.endswith(
        "run the pod under a service account that has a Pod Identity association with a role that may read the bucket\n"
    )


def test_a_full_disk_ends_the_run_and_keeps_the_files(
    filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, []

    def fsync(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    assert run("copy", tmp_path, "--workers", "1") == 2
    assert f"error: '--target' is {tmp_path}, where no space is left for test/5 (0.0 GB); free some space, then" in (
        capsys.readouterr().err
    )
    assert len(files(tmp_path)) == 5
    monkeypatch.setattr(os, "fsync", real)
    assert run("copy", tmp_path) == 0
    assert files(tmp_path) == filled


def test_rejects_a_target_that_is_not_writable(
    filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run("copy", tmp_path / "file" / "set") == 2
    assert capsys.readouterr().err == (
        f"error: '--target' is {tmp_path}/file/set, where user {os.getuid()} cannot write (Not a directory); "
        "a part of the path is a file: give another\n"
    )


def test_preload_requires_the_folder_of_lustre(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("preload", tmp_path / "set") == 2
    assert capsys.readouterr().err == (
        f"error: '--target' is {tmp_path}/set, which does not exist; give the folder that Lustre has for '--source'\n"
    )


def test_rejects_the_container_s_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(Path, "is_mount", lambda path: path == Path("/"))
    assert run("copy", tmp_path / "set") == 2
    assert "which is on the container's disk and would be deleted with it; mount the shared" in capsys.readouterr().err
    monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path)
    staging.prepare_target(tmp_path / "set", "copy")


def test_reports_a_folder_in_the_place_of_a_file(
    filled: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test/1").mkdir(parents=True)
    assert run("copy", tmp_path) == 1
    assert "FAIL: 1 files differ from S3:\n  test/1 cannot be used here: Is a directory\n" in capsys.readouterr().out


def test_reports_an_input_error_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training.staging", "copy", "--source", "bucket", "--target", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: '--source' is bucket; give s3://bucket/prefix\n"


def test_imports_neither_tensorflow_nor_horovod() -> None:
    code = "import sys, training.staging.__main__; assert not {'tensorflow', 'horovod'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
