"""Rules on elastic Horovod: the bounds of its size, and where it gets its hosts from.

https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/launch.py
"""

from collections.abc import Iterator

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import HOROVODRUN
from training_workloads.mpijob.launch_options import CONFIG_FILE, DISCOVERY_SCRIPT_OPTION, HOSTS, SLOTS_PER_HOST
from training_workloads.mpijob.launcher_argv import DISCOVERY_SCRIPT
from training_workloads.mpijob.view import MpiJobView


@error(f"Horovod cannot hold both bounds {HOROVODRUN}")
def elastic_range(job: MpiJobView) -> Iterator[Found]:
    """Elastic Horovod with `-np` outside of `--min-np` and `--max-np`."""
    for launch in job.launches:
        numbers = {"min-np": launch.min_ranks, "np": launch.ranks, "max-np": launch.max_ranks}
        given = {name: number for name, number in numbers.items() if number is not None}
        if launch.is_horovod and list(given.values()) != sorted(given.values()):
            listed = ", ".join(f"{name} {number}" for name, number in given.items())
            yield Found(job.launch_path, f"has {listed}, which do not rise", "give min-np <= np <= max-np")


@error(
    "It prints names only, and horovodrun 0.28.1 fails when it adds up slots that are None (`elastic/discovery.py`) "
    "([discovery.py](https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/elastic/discovery.py))"
)
def elastic_without_slots(job: MpiJobView) -> Iterator[Found]:
    """The operator's discovery script prints no slots, and horovodrun ends with an error when it adds them up."""
    for launch in job.launches:
        script = any(word.endswith(DISCOVERY_SCRIPT) for word in launch.words)
        if launch.is_horovod and script and not launch.has(SLOTS_PER_HOST, CONFIG_FILE):
            problem = f"takes its hosts from {DISCOVERY_SCRIPT}, which prints no slots, and has no --slots-per-host"
            gpus = int(job.worker.total(GPU_RESOURCE))
            yield Found(job.launch_path, problem, f"add --slots-per-host {gpus or job.slots or '<GPUs of a worker>'}")


@error(
    "`_run_elastic` of [launch.py](https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/launch.py) needs one"
)
def elastic_without_hosts(job: MpiJobView) -> Iterator[Found]:
    """An elastic `horovodrun` without a discovery script or hosts: it ends with a ValueError."""
    for launch in job.launches:
        hosts = launch.has(DISCOVERY_SCRIPT_OPTION, HOSTS, CONFIG_FILE)
        if launch.is_horovod and launch.min_ranks is not None and not hosts and not launch.expands:
            problem = "has --min-np, but no script that prints the hosts, and horovodrun ends with a ValueError"
            yield Found(job.launch_path, problem, f"add --host-discovery-script {DISCOVERY_SCRIPT}")


@error(f"Horovod waits for that many slots until `--elastic-timeout` (600 s) and ends {HOROVODRUN}")
def elastic_waits_for_slots(job: MpiJobView) -> Iterator[Found]:
    """Elastic Horovod that needs more slots than the job's workers have: it waits, then ends."""
    for launch in job.launches:
        slots, workers = launch.number(SLOTS_PER_HOST), job.worker.replicas
        least = max(launch.min_ranks or 0, launch.ranks or 0)
        if not launch.is_horovod or not launch.has(DISCOVERY_SCRIPT_OPTION) or not slots or not workers:
            continue
        # Fewer slots than GPUs are the mistake of another rule.
        if least > max(slots, int(job.worker.total(GPU_RESOURCE))) * workers:
            problem = f"waits for {least} slots, but {workers} x {slots} are {slots * workers}"
            yield Found(
                job.launch_path, problem, f"write -np and --min-np of {slots * workers} or fewer, or more workers"
            )


@warning("Ranks share a GPU, or GPUs stay idle (derived)")
def elastic_slots_differ_from_gpus(job: MpiJobView) -> Iterator[Found]:
    """`--slots-per-host` that is not the number of a worker's GPUs: ranks share GPUs, or GPUs stay idle."""
    gpus = job.worker.total(GPU_RESOURCE)
    for launch in job.launches:
        slots = launch.number(SLOTS_PER_HOST)
        if launch.is_horovod and gpus and slots is not None and slots != gpus:
            problem = f"has --slots-per-host {slots}, but each worker has {gpus} GPUs"
            yield Found(job.launch_path, problem, f"write --slots-per-host {gpus}, one rank for each GPU")
