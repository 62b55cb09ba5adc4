import pytest

from training.pods import failure_reason

TRACEBACK = """[{0}]<stderr>:Traceback (most recent call last):
[{0}]<stderr>:  File "train.py", line 5, in <module>
[{0}]<stderr>:{1}
"""
LATE = "[1]<stderr>:Exception ignored in: <function Dataset.__del__ at 0x7fc717d9c720>\n" + TRACEBACK.format(
    1, "AttributeError: late"
)
# What horovodrun 0.28.1 printed for two ranks with an error.
HOROVODRUN = """ERROR:root:failure count == 2 -> stop running
Traceback (most recent call last):
  File "horovodrun", line 10, in <module>
RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be \
terminated. The first process to do so was:
Process name: localhost[1]
Exit code: 3

Traceback (most recent call last):
  File "http_server.py", line 58, in do_GET
BrokenPipeError: [Errno 32] Broken pipe
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TRACEBACK.format(1, "ValueError: NaN") + HOROVODRUN, "ValueError: NaN"),
        (TRACEBACK.format(1, "ValueError: NaN") + LATE + HOROVODRUN, "ValueError: NaN"),
        (TRACEBACK.format(1, "ValueError: NaN") + LATE.replace("[1]<stderr>:", ""), "ValueError: NaN"),
        # The end of one rank's traceback is not that of another one's.
        (LATE.splitlines()[0] + "\n" + TRACEBACK.format(0, "ValueError: NaN"), "ValueError: NaN"),
        # The other rank only reports that the first one is lost.
        (
            TRACEBACK.format("1,0", "ValueError")
            + TRACEBACK.format("1,1", "horovod.common.exceptions.HorovodInternalError: shut down"),
            "ValueError",
        ),
        (
            TRACEBACK.format(0, "tf.errors.UnknownError: Horovod has been shut down") + LATE,
            "tf.errors.UnknownError: Horovod has been shut down",
        ),
        (
            HOROVODRUN.partition("\n\n")[0],
            "RuntimeError: Horovod detected that one or more processes exited with non-zero "
            "status, thus causing the job to be terminated. The first process to do so was:",
        ),
        ("[0]<stderr>:error: no data\n" + LATE + HOROVODRUN, "no data"),
        ("Exception ignored in: <stdout>\nBrokenPipeError: [Errno 32] Broken pipe\n", ""),
        ("ErrorBudget is a word\nKilled\n", ""),
    ],
)
def test_the_reason_is_the_rank_s_own_error(text: str, message: str) -> None:
    assert failure_reason.message(text) == message


def test_the_exit_code_is_that_of_the_first_rank_that_failed() -> None:
    assert failure_reason.code_of_a_rank(HOROVODRUN) == 3
    assert failure_reason.code_of_a_rank("Killed\n") is None


# What torchrun of torch 2.15.0 printed for two ranks, one of which failed first.
TORCHRUN = """Traceback (most recent call last):
  File "t.py", line 3, in <module>
ValueError: NaN
E1123 14:59:06.338000 26135 torch/…/api.py:1002] failed (exitcode: {code}) local_rank: 0
Traceback (most recent call last):
  File "torchrun", line 10, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:{space}
============================================================
t.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-23_14:59:06
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : 7 (pid: 26215){space}
  error_file: <N/A>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-23_14:59:06
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : {code} (pid: 26214){space}
  error_file: <N/A>
"""


@pytest.mark.parametrize(("printed", "code"), [(2, 2), (75, 75), (-9, 137)])
def test_torchrun_prints_the_code_of_the_first_rank_that_failed(printed: int, code: int) -> None:
    assert failure_reason.code_of_a_rank(TORCHRUN.format(code=printed, space=" ")) == code


def test_the_reason_is_a_ranks_and_not_torchruns() -> None:
    assert failure_reason.message(TORCHRUN.format(code=2, space=" ")) == "ValueError: NaN"
