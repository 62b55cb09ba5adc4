"""Mask R-CNN on two hosts in network namespaces, started by SageMaker's entry point."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.mask_rcnn.run_files import results, same
from tests.training.mpirun import Run
from tests.training.pods import namespace_hosts
from tests.training.pods.namespace_hosts import THREADS_OF_TWO, NamespaceHosts

pytestmark = pytest.mark.skipif(namespace_hosts.why_not() is not None, reason=str(namespace_hosts.why_not()))


def test_two_hosts_train_to_the_weights_of_mpirun(
    arguments: Callable[[Path], list[str]], finished: Run, tmp_path: Path
) -> None:
    program = (sys.executable, *arguments(Path("/opt/ml/checkpoints/run")))
    with NamespaceHosts(tmp_path, 2) as hosts:
        for host in hosts.hosts:
            host.start("--processes-per-host", "1", "--", *program, variables=THREADS_OF_TWO)
        assert hosts.codes() == [0, 0], "\n".join(host.log for host in hosts.hosts)
        first = hosts.hosts[0].ml
        assert same(first / "checkpoints/run", finished.output)
        handed_over, expected = results(first / "output/data/run"), results(finished.output)
        assert handed_over["segm/AP"] == expected["segm/AP"]
