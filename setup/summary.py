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
    print(
        f"""
==> done: a test accuracy of {results["accuracy"]:.4f}, {results["images_per_second"]:.0f} images/s, \
{results["world_size"]} ranks
  {folder}/   results.json, checkpoints/, tensorboard/
  cdk.out/          {", ".join(stacks) or "no stacks"}
  dist/jobs/        {jobs} jobs
  dist/platform/    what they need on a cluster: {platform} manifests

==> next: source .venv/bin/activate, then
  trainctl lint dist/jobs/                          check every job
  trainctl render {job} --image <your image>   a job for your cluster
  trainctl submit dist/jobs/{job}.k8s.yaml     run it there ("Deploy" in README.md)"""
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
