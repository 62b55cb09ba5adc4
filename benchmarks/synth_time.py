"""The time of this project's `cdk synth`, compared with that of an app with one VPC: `make bench-synth`.

Both run alternately, so that other load of the machine affects both. The first run of each is not counted, because it
fills the caches.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNS = 5
MOST = 2.0


def main() -> None:
    """Print the medians and their ratio; the exit code is 1 if the ratio is above its bar."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare_vpc"
        shutil.copytree(ROOT / "benchmarks/bare_vpc", bare)
        # The same context: feature flags cost time too.
        shutil.copy(ROOT / "cdk.json", bare)
        seconds: dict[Path, list[float]] = {bare: [], ROOT: []}
        for run in range(RUNS + 1):
            for app, times in seconds.items():
                took = synth_seconds(app, Path(folder) / f"out-{app.name}")
                if run:
                    times.append(took)
    one_vpc, project = (statistics.median(times) for times in seconds.values())
    ratio = project / one_vpc
    print(f"cdk synth, median of {RUNS}: one VPC {one_vpc:.1f} s, this project {project:.1f} s, {ratio:.2f} x")
    if ratio > MOST:
        sys.exit(f"error: more than {MOST} x")


def synth_seconds(app: Path, out: Path) -> float:
    """Return the wall-clock seconds of one `cdk synth`."""
    start = time.monotonic()
    command = ["cdk", "synth", "--quiet", "--app", f"{sys.executable} app.py", "--output", str(out)]
    subprocess.run(command, cwd=app, check=True, capture_output=True)
    return time.monotonic() - start


main()
