"""Show the results of the first run and the next commands."""

import json
import sys
from pathlib import Path


def main(job: str) -> None:
    """Print the summary of a job that ran on this machine."""
    folder = Path("runs", job)
    results_file = folder / "results.json"
    if not results_file.is_file():
        sys.exit(f"error: {results_file} does not exist; run 'make run-local JOB={job}' first")
    results = json.loads(results_file.read_text())
    stacks = [path.name.split(".")[0] for path in sorted(Path("cdk.out").glob("*.template.json"))]
    jobs, platform = (len(list(Path(place).glob("*.k8s.yaml"))) for place in ("dist/jobs", "dist/platform"))
    accuracy, rate = f"{results['accuracy']:.4f}", f"{results['images_per_second']:.0f}"
    print(f"\n==> done: test accuracy {accuracy}, {rate} images/s on {results['world_size']} ranks")
    _print_table(
        (f"{folder}/", "results.json, curve.svg, checkpoints/, tensorboard/"),
        ("cdk.out/", ", ".join(stacks) or "no stacks"),
        ("dist/jobs/", f"{jobs} jobs"),
        ("dist/platform/", f"{platform} manifests, which the jobs need on a cluster"),
    )
    print("\n==> next: source .venv/bin/activate, then")
    _print_table(
        ("trainctl lint dist/jobs/", "check every job"),
        (f"trainctl render {job} --image <image>", "the job with your image"),
        (f"trainctl submit dist/jobs/{job}.k8s.yaml", 'run it: "Deploy" in README.md'),
    )


def _print_table(*rows: tuple[str, str]) -> None:
    width = max(len(first) for first, _ in rows)
    for first, second in rows:
        print(f"  {first:<{width}}  {second}")


if __name__ == "__main__":
    main(*sys.argv[1:])
