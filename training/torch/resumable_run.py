"""Exact resume around a training loop of PyTorch that its user has written."""

import argparse
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from ..runtime.errors import UserError
from ..runtime.every import every
from ..runtime.user_loop import DEFAULT_EVERY, State, UserLoop
from . import random_states, sample_probes
from .connection import connect, on_all_ranks
from .epoch_sampler import EpochSampler
from .logged_values import LoggedValues
from .run_state import RunState, Stateful
from .seeded_dataset import SeededDataset

# Keywords of `DataLoader` that decide the order of the samples.
_ORDER = ("shuffle", "sampler", "batch_sampler")


class ResumableRun:
    """A run that continues at the next batch after it was killed, as if nothing had happened.

    ```
    run = ResumableRun("out", model=model, optimizer=optimizer, seed=1)
    loader = run.loader(dataset, batch_size=32)
    for epoch in run.epochs(5):
        for batch in run.batches(loader):
            ...
    ```

    With several ranks, make it after `torch.distributed.init_process_group`. Each rank calls the same methods in the
    same order. Between two steps of the optimizer nothing is saved, so that gradients may be accumulated.

    Attributes:
        scheduler: The scheduler. One that needs `len(loader)` may be set after the loader is made, before the epochs.
    """

    def __init__(
        self,
        output: str | Path,
        *,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: Stateful | None = None,
        scaler: Stateful | None = None,
        others: Mapping[str, Any] | None = None,
        seed: int = 0,
        checkpoint_every: str = str(DEFAULT_EVERY),
        keep_checkpoints: int = 3,
    ) -> None:
        """Connect to the other ranks; nothing is read or written before the first epoch.

        Args:
            output: Folder for checkpoints and results, the same for all starts and ranks; a run in it resumes.
            model: The model, in DistributedDataParallel or torch.compile too, or sharded by `fully_shard`.
            optimizer: Its optimizer, of any kind.
            scheduler: Scheduler of the learning rate, stepped by the loop, once in a step or in an epoch.
            scaler: The `torch.amp.GradScaler`.
            others: Other objects with `state_dict()` and `load_state_dict()` by name, such as a second model with its
                optimizer, or an average of the weights.
            seed: Decides the order of samples, and all random numbers from the first epoch on.
            checkpoint_every: Such as `500steps`, `2epochs` or `10min`.
            keep_checkpoints: Checkpoints to keep.
        """
        self._output, self._seed, self._keep = Path(output), seed, keep_checkpoints
        self._checkpoint_every = checkpoint_every
        self.scheduler = scheduler
        self._objects = {"model": model, "optimizer": optimizer, "scaler": scaler, **(others or {})}
        self._logged = LoggedValues()
        self._within_batches = self._ends = False
        # Whether the optimizer has stepped since the batch before: a resumed run begins so.
        self._stepped = True
        on_all_ranks(self._connect)

    def _connect(self) -> None:
        connect()
        if type(self._seed) is not int or self._seed < 0:
            raise UserError(f"'seed' is {self._seed!r}; give a whole number, 0 or more")
        if type(self._keep) is not int or self._keep < 1:
            raise UserError(f"'keep_checkpoints' is {self._keep!r}; give a whole number, 1 or more")
        try:
            self._every = every(str(self._checkpoint_every))
        except argparse.ArgumentTypeError as error:
            raise UserError(f"'checkpoint_every' {error}") from error

    # ------------------------------------------------------------------------------------------------------- the data

    def sampler(self, dataset: Any, *, batch_size: int) -> EpochSampler:
        """Return the order of this rank's samples, for a `DataLoader` of the user with this batch size.

        Args:
            dataset: A data set with `__len__` and `__getitem__`.
            batch_size: Samples of each rank and step.
        """
        return on_all_ranks(lambda: self._make_sampler(dataset, batch_size))

    def loader(self, dataset: Any, batch_size: int, **keywords: Any) -> "DataLoader[Any]":
        """Return a loader of this rank's samples, shuffled in every epoch.

        Args:
            dataset: A data set with `__len__` and `__getitem__`.
            batch_size: Samples of each rank and step.
            keywords: Other keywords of `torch.utils.data.DataLoader`, such as `num_workers`.
        """
        return on_all_ranks(lambda: self._make_loader(dataset, batch_size, keywords))

    def _make_loader(self, dataset: Any, batch_size: int, keywords: Mapping[str, Any]) -> "DataLoader[Any]":
        for name in _ORDER:
            if name in keywords:
                raise UserError(
                    f"'{name}' is {keywords[name]!r}, but the run decides the order, to resume in it: it shuffles all "
                    f"samples in each epoch; leave '{name}' out"
                )
        return DataLoader(dataset, batch_size, sampler=self._make_sampler(dataset, batch_size), **keywords)

    def _make_sampler(self, dataset: Any, batch_size: int) -> EpochSampler:
        is_numbered = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
        if isinstance(dataset, IterableDataset) or not is_numbered:
            raise UserError(
                f"the data set is a {type(dataset).__name__}, whose samples have no numbers, so that a run cannot "
                "resume at one; give a data set with '__len__' and '__getitem__', such as one that keeps the place of "
                "each sample in its files"
            )
        if hasattr(self, "_sampler"):
            raise UserError(
                "the run has a loader or a sampler, and gets a second one; join the data sets of the training by "
                "torch.utils.data.ConcatDataset, and make another DataLoader for an evaluation"
            )
        self._sampler = EpochSampler(len(dataset), batch_size=batch_size, seed=self._seed)
        self._dataset = dataset
        return self._sampler

    # ------------------------------------------------------------------------------------------------------- the loop

    @property
    def step(self) -> int:
        """Batches of each rank since the run began, over all its starts."""
        return self._loop.position.step if hasattr(self, "_loop") else 0

    def epochs(self, epochs: int) -> Iterator[int]:
        """Restore the newest checkpoint, and yield the number of each epoch that is left, from 0.

        Args:
            epochs: Epochs of the whole run; a finished run continues when it is raised.
        """
        try:
            on_all_ranks(lambda: self._begin(epochs))
            while self._loop.position.epoch < epochs and not self._ends:
                self._reads_batches = False
                yield self._loop.position.epoch
                on_all_ranks(self._end_epoch)
            on_all_ranks(lambda: self._loop.finish(self._capture, {}))
        finally:
            if hasattr(self, "_loop"):
                self._loop.close()

    def batches(self, loader: "DataLoader[Any]") -> Iterator[Any]:
        """Yield the batches that the epoch has left, and count each after the body of the loop.

        Args:
            loader: From `loader`, or with the `sampler` of this run.
        """
        return (batch for _, batch in self.enumerate(loader))

    def enumerate(self, loader: "DataLoader[Any]") -> Iterator[tuple[int, Any]]:
        """Yield each batch as `batches` does, with its number in the epoch, which also counts those before a resume.

        Args:
            loader: From `loader`, or with the `sampler` of this run.
        """
        on_all_ranks(lambda: self._check(loader))
        self._reads_batches = True
        loop, sampler = self._loop, self._sampler
        first, steps = sampler.done, len(sampler) // sampler.batch_size
        batches = self._started(loader)
        loop.restart_clock()
        for number in range(first, steps):
            before = time.perf_counter()
            batch = next(batches)
            waited = time.perf_counter() - before
            self._logged.begin_step()
            self._stepped, self._within_batches = False, True
            yield number, batch
            self._within_batches = False
            on_all_ranks(lambda: self._end_step(waited, number + 1 == steps))  # noqa: B023

    def log(self, **values: "torch.Tensor | float") -> None:
        """Show numbers in the lines, curves and results of the run: the mean over the ranks that log them.

        Args:
            values: Within a step its losses, also shown as means over the epoch; after the last step of an epoch
                figures of the epoch, such as an accuracy.
        """
        add = self._logged.add_losses if self._within_batches else self._logged.add_metrics
        add(values)

    def end(self) -> None:
        """Let the present epoch be the last, as when the accuracy no longer rises; all ranks decide the same."""
        self._ends = True

    # ------------------------------------------------------------------------------------------------ begin, step, end

    def _begin(self, epochs: int) -> None:
        if not hasattr(self, "_sampler"):
            raise UserError("the run has no data yet; call run.loader(dataset, batch_size=…) before run.epochs")
        if hasattr(self, "_loop"):
            raise UserError("run.epochs is called a second time; make another run, with another output folder")
        named = {**self._objects, "scheduler": self.scheduler}
        self._state = RunState({name: each for name, each in named.items() if each is not None})
        self._loop = UserLoop(
            self._output,
            settings={"seed": self._seed, "samples": self._sampler.samples},
            batch_size=self._sampler.batch_size,
            epochs=epochs,
            checkpoint_every=self._every,
            keep_checkpoints=self._keep,
        )
        self._probes = sample_probes.probe(self._dataset, self._seed)
        written = self._loop.begin()
        self._state.warn()
        self._state.seed(self._seed, self.step)
        if written is None:
            self._state.compare_weights()
        else:
            sample_probes.warn_of_others(self._probes, written.metadata["probes"])
            # Those of the first start stay, so that each start with other data has the warning.
            self._probes = written.metadata["probes"]
            self._ends = written.metadata["ends"]
            if of_rank := self._state.restore(self._output, written):
                self._logged.load_state_dict(of_rank["logged"])
        self._sampler.position = self._loop.position
        self._state.optimizers["optimizer"].register_step_post_hook(self._note_step)

    def _note_step(self, *_: Any) -> None:
        self._stepped = True

    def _check(self, loader: "DataLoader[Any]") -> None:
        """Reject a loader with another order than that of the run, and let it read samples with their own seeds."""
        if not hasattr(self, "_loop"):
            raise UserError("the run has not begun; call run.batches within 'for epoch in run.epochs(…)'")
        if getattr(loader, "sampler", None) is not self._sampler:
            order = type(getattr(loader, "sampler", loader)).__name__
            raise UserError(
                f"the loader has the order of {order}, which a resumed run would not find again; make it by "
                "run.loader(dataset, batch_size=…), or with sampler=run.sampler(dataset, batch_size=…)"
            )
        if loader.batch_size != self._sampler.batch_size:
            raise UserError(
                f"the loader has batch_size={loader.batch_size}, and its sampler {self._sampler.batch_size}; give "
                "both the same"
            )
        if not isinstance(loader.dataset, SeededDataset):
            # A loader does not let its data set be changed, because its sampler would be that of another one.
            object.__setattr__(loader, "dataset", SeededDataset(loader.dataset, self._seed))

    def _started(self, loader: "DataLoader[Any]") -> Iterator[Any]:
        """Return the iterator of a loader, which draws a random number for its workers: not from those of dropout."""
        with random_states.kept():
            random_states.seed_cpu(self._seed, self.step)
            return iter(loader)

    def _end_step(self, waited: float, ends_epoch: bool) -> None:
        self._logged.end_step()
        self._loop.after_step(
            self._capture,
            losses=self._logged.losses,
            waited=waited,
            ends_epoch=ends_epoch,
            is_complete=self._stepped,
        )
        self._sampler.position = self._loop.position

    def _end_epoch(self) -> None:
        if not self._reads_batches:
            raise UserError(
                "an epoch of run.epochs() has ended without run.batches(), so that no step was counted, and nothing "
                "would be saved; write 'for batch in run.batches(loader):' in place of 'for batch in loader:'"
            )
        self._loop.after_epoch(self._capture, self._logged.end_epoch(), is_complete=self._stepped)
        self._sampler.position = self._loop.position

    def _capture(self) -> State:
        return self._state.capture({"probes": self._probes, "ends": self._ends}, {"logged": self._logged.state_dict()})
