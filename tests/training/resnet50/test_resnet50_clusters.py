"""Where XLA cuts the training step: TensorFlow's own pass on the CPU, which it calls for a GPU too."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.protobuf import text_format
from tensorflow.core.framework.graph_pb2 import GraphDef

from tests.training.mpirun import PATIENCE, ROOT

pytestmark = pytest.mark.whole_run

_ON_THE_CPU = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_clustering_debug"


@dataclass(frozen=True)
class Graph:
    """A step: its operations in an order in which each follows those that it reads."""

    inputs: Mapping[str, list[str]]
    clusters: Mapping[str, str]
    allreduces: list[str]

    @classmethod
    def read(cls, folder: Path) -> "Graph":
        """Return the step among the graphs of a folder; the functions that it calls are smaller."""
        found = max(folder.glob("mark_for_compilation_annotated*.pbtxt"), key=lambda path: path.stat().st_size)
        nodes = text_format.Parse(found.read_text(), GraphDef()).node
        return cls(
            inputs={node.name: [one.lstrip("^").split(":")[0] for one in node.input] for node in nodes},
            clusters={node.name: node.attr["_XlaCluster"].s.decode() for node in nodes if "_XlaCluster" in node.attr},
            allreduces=[node.name for node in nodes if node.op == "HorovodAllreduce"],
        )

    def feeding(self, name: str) -> str:
        """Return the cluster that computes an operation's value."""
        while name not in self.clusters:
            (name,) = self.inputs[name]
        return self.clusters[name]

    def before(self, name: str) -> set[str]:
        """Return the clusters that must end before an operation starts, whatever they compute."""
        todo, done = [name], set()
        while todo:
            name = todo.pop()
            if name not in done:
                done.add(name)
                todo += self.inputs[name]
        return {self.clusters[one] for one in done if one in self.clusters}


def steps(folder: Path, names: list[str], flags: str = "") -> list[Graph]:
    environment = os.environ | {"TF_XLA_FLAGS": f"{_ON_THE_CPU} {flags}".strip()}
    program = [sys.executable, "-m", "tests.training.resnet50.clustered_step", str(folder), *names]
    patience = PATIENCE * len(names)
    done = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=patience)
    assert done.returncode == 0, done.stderr[-2000:]
    return [Graph.read(folder / name) for name in names]


def gradients_of_clusters(graph: Graph) -> list[int]:
    """Return the number of gradients of each cluster, from the first that is sent to the last."""
    feeding: dict[str, list[str]] = {}
    for name in graph.allreduces:
        feeding.setdefault(graph.feeding(name), []).append(name)
    # The more must have ended before, the later.
    ordered = sorted(feeding, key=lambda cluster: len(graph.before(feeding[cluster][0])))
    first, last = ordered[0], ordered[-1]
    if first != last:
        assert all(last not in graph.before(name) for name in feeding[first]), "all gradients wait for one cluster"
        assert all(first in graph.before(name) for name in feeding[last])
    return [len(feeding[cluster]) for cluster in ordered]


# On a GPU, with and without fp16 on the wire, and with --precision float32.
_STEPS = ["mixed_float16:fp16", "mixed_float16:none", "float32:none"]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    graphs = steps(tmp_path_factory.mktemp("limited"), _STEPS)
    return {name: gradients_of_clusters(graph) for name, graph in zip(_STEPS, graphs, strict=True)}


@pytest.mark.parametrize("step", _STEPS)
def test_gradients_are_sent_before_the_backward_pass_ends(limited: dict[str, list[int]], step: str) -> None:
    gradients = limited[step]
    assert sum(gradients) == 161
    assert 3 <= len(gradients) <= 6
    # The first is sent while at least half of the others are still computed.
    assert gradients[0] < 161 / 2


def test_a_limit_of_the_user_is_kept_and_without_one_all_gradients_wait_for_one_cluster(tmp_path: Path) -> None:
    (graph,) = steps(tmp_path, ["mixed_float16:none"], "--tf_xla_max_cluster_size=1000000")
    assert gradients_of_clusters(graph) == [161]
