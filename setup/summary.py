"""Show the results of the first run and the next commands."""

import json
import sys
from pathlib import Path

from training_workloads.planning.storage_sizing import IMAGENET_BYTES_PER_IMAGE, size_lustre


def main(job: str) -> None:
    """Print the summary of a job that ran on this machine."""
    results_file = Path("runs", job, "results.json")
    if not results_file.is_file():
        sys.exit(f"error: {results_file} does not exist; run 'make run-local JOB={job}' first")
    results = json.loads(results_file.read_text())
    stacks = sorted(path.name.split(".")[0] for path in Path("cdk.out").glob("*.template.json"))
    jobs, platform = (_names(Path(folder)) for folder in ("dist/jobs", "dist/platform"))
    storage = size_lustre(images_per_second=results["images_per_second"], bytes_per_image=IMAGENET_BYTES_PER_IMAGE)
    print(
        f"""
==> done
  stacks     {", ".join(stacks) or "none"}, in cdk.out/
  jobs       {jobs}, in dist/jobs/
  platform   {platform}, in dist/platform/
  training   {results["world_size"]} ranks, {results["training_seconds"]:.1f} s, \
{results["images_per_second"]:.0f} images/s, test accuracy {results["accuracy"]:.4f}
  storage    at this rate, files as large as ImageNet's would need {storage}
  results    {results_file.parent}/: results.json, checkpoints/, tensorboard/

  next
    review   source .venv/bin/activate && cdk synth TrainingClusterStack
    deploy   cdk deploy TrainingClusterStack   (read "Deploy" in README.md first: GPU nodes cost money by the hour)
    submit   trainctl render {job} --image <your image> \
&& trainctl submit dist/jobs/{job}.k8s.yaml"""
    )


def _names(folder: Path) -> str:
    return ", ".join(sorted(path.name.removesuffix(".k8s.yaml") for path in folder.glob("*.k8s.yaml"))) or "none"


if __name__ == "__main__":
    main(*sys.argv[1:])
