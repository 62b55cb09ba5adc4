import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from training.pods.host_ranks import Settings, parse
from training.runtime.errors import UserError

HOSTS = ("algo-1", "algo-2", "algo-3")


def start(program: str, *, processes: int = 2) -> subprocess.Popen[str]:
    settings = Settings(host=1, hosts=HOSTS, processes=processes, command=(sys.executable, "-c", program))
    return subprocess.Popen(settings.words(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(program: str, *, processes: int = 2) -> tuple[int, list[str], list[str]]:
    with start(program, processes=processes) as process:
        out, errors = process.communicate(timeout=120)
    return process.returncode, sorted(out.splitlines()), sorted(errors.splitlines())


def test_each_rank_gets_the_variables_of_horovodrun() -> None:
    program = "import json, os; print(json.dumps({n: v for n, v in os.environ.items() if n.startswith('HOROVOD_')}))"
    code, out, errors = run(program)
    assert (code, errors) == (0, [])
    found = {line.partition(":")[0]: json.loads(line.partition(":")[2]) for line in out}
    # The second of three hosts with two ranks each.
    of_third = {"RANK": "2", "SIZE": "6", "LOCAL_RANK": "0", "LOCAL_SIZE": "2", "CROSS_RANK": "1", "CROSS_SIZE": "3"}
    third = {f"HOROVOD_{name}": value for name, value in of_third.items()} | {"HOROVOD_HOSTNAME": "algo-2"}
    fourth = third | {"HOROVOD_RANK": "3", "HOROVOD_LOCAL_RANK": "1"}
    assert found == {"[1,2]<stdout>": third, "[1,3]<stdout>": fourth}


def test_each_line_has_the_tag_of_its_rank_and_stream() -> None:
    program = """
import os, sys
print("one\\n\\nthree")
sys.stdout.flush()
os.write(2, b"par")
os.write(2, b"tial")
sys.stdout.write("last")
"""
    code, out, errors = run(program, processes=1)
    assert code == 0
    assert out == ["[1,1]<stdout>:", "[1,1]<stdout>:last", "[1,1]<stdout>:one", "[1,1]<stdout>:three"]
    assert errors == ["[1,1]<stderr>:partial"]


def test_a_long_line_and_many_lines_arrive_complete() -> None:
    program = "print('x' * 300_000)\nfor n in range(20_000): print(n)"
    code, out, _ = run(program, processes=1)
    assert code == 0
    texts = [line.removeprefix("[1,1]<stdout>:") for line in out]
    assert sum(text.count("x") for text in texts) == 300_000
    assert sorted(int(text) for text in texts if "x" not in text) == list(range(20_000))


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", 137)])
def test_the_others_end_with_the_first_rank_that_fails(end: str, code: int) -> None:
    program = f"import os, sys, time\nif os.environ['HOROVOD_LOCAL_RANK'] == '1': {end}\ntime.sleep(600)"
    found, _, _ = run(program)
    assert found == code


def test_a_rank_that_ignores_sigterm_is_killed() -> None:
    program = (
        "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.environ['HOROVOD_LOCAL_RANK'] == '0': time.sleep(1); sys.exit(4)\ntime.sleep(600)"
    )
    assert run(program)[0] == 4


SAVING = """
import signal, sys, time
def save(*_):
    print("saved", flush=True)
    sys.exit(75)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(600)
"""


def wait_for_ranks(process: subprocess.Popen[str], count: int) -> Sequence[psutil.Process]:
    assert process.stdout
    assert [process.stdout.readline().partition(":")[2] for _ in range(count)] == ["ready\n"] * count
    return list(psutil.Process(process.pid).children())


def test_a_stop_request_reaches_every_rank() -> None:
    with start(SAVING) as process:
        wait_for_ranks(process, 2)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 75
    assert sorted(out.splitlines()) == ["[1,2]<stdout>:saved", "[1,3]<stdout>:saved"]


def test_ranks_end_when_their_parent_is_killed() -> None:
    with start(SAVING) as process:
        ranks = wait_for_ranks(process, 2)
        process.kill()
        _, alive = psutil.wait_procs(ranks, timeout=60)
    assert alive == []


def test_a_process_that_outlives_its_rank_does_not_keep_the_others_waiting() -> None:
    # It has the rank's output, which so stays open.
    code, out, _ = run("import subprocess; print(subprocess.Popen(['sleep', '600']).pid)", processes=1)
    assert code == 0
    psutil.Process(int(out[0].rpartition(":")[2])).kill()


def test_a_host_that_does_not_exist_is_rejected() -> None:
    with pytest.raises(UserError, match="'--host' is 3, but '--hosts' has 3; give 2 or less"):
        parse(["--host", "3", "--hosts", "a,b,c", "--processes", "1", "--", "true"])


def test_a_file_that_is_no_program_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("1")
    (tmp_path / "data").chmod(0o755)
    settings = Settings(host=0, hosts=HOSTS, processes=1, command=(str(tmp_path / "data"),))
    ended = subprocess.run(settings.words(), capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert ended.stderr == f"error: '{tmp_path}/data' cannot be run: Exec format error; give a program\n"
