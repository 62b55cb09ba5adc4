import subprocess
import sys
from pathlib import Path

from tests.training.conftest import ROOT

CODE = """\
import sys, time
from training.runtime.orphans import end_with_the_launcher
end_with_the_launcher(sys.stdout.fileno())
print("ready", flush=True)
time.sleep(float(sys.argv[1]))
"""


def test_a_rank_ends_when_nobody_reads_its_output_any_more() -> None:
    with subprocess.Popen([sys.executable, "-c", CODE, "60"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdout.close()
        assert process.wait(timeout=10) == 1


def test_a_rank_whose_output_is_a_file_goes_on(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        subprocess.run([sys.executable, "-c", CODE, "0.2"], cwd=ROOT, stdout=log, check=True, timeout=30)
