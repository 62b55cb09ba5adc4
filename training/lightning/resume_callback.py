"""A callback with which a Trainer of Lightning saves, stops, and continues exactly."""

import argparse
import base64
import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch.utils.data import DataLoader, IterableDataset

from ..runtime import files, ranks, watchdog
from ..runtime.distributed import barrier, on_rank_zero, say
from ..runtime.errors import UserError
from ..runtime.every import every
from ..runtime.position import Position
from ..runtime.run_lock import locked
from ..runtime.stop_request import Stopped
from ..runtime.user_loop import DEFAULT_EVERY
from ..torch import random_states, verified_folders
from ..torch.agreed_stop import AgreedStop
from ..torch.connection import connect, on_all_ranks
from ..torch.epoch_sampler import EpochSampler
from ..torch.seeded_collate import SeededCollate
from ..torch.seeded_dataset import SeededDataset
from ..torch.state_arrays import from_bytes, to_bytes

_FILE = "lightning.ckpt"


class ResumeCallback(Callback):
    """Saves within epochs, ends the run on a stop request, and continues at the next batch.

    ```
    resume = ResumeCallback("out", seed=1)
    trainer = Trainer(max_epochs=5, callbacks=[resume], use_distributed_sampler=False)
    loader = resume.loader(trainer, dataset, batch_size=32)
    resume.fit(trainer, model, loader)
    ```
    """

    def __init__(
        self,
        output: str | Path,
        *,
        seed: int = 0,
        checkpoint_every: str = str(DEFAULT_EVERY),
        keep_checkpoints: int = 3,
    ) -> None:
        """Do nothing yet.

        Args:
            output: Folder of the checkpoints, the same for all starts and ranks.
            seed: Decides the order of samples, and the random numbers from the first step on.
            checkpoint_every: Such as `500steps`, `2epochs` or `10min`.
            keep_checkpoints: Checkpoints to keep.
        """
        self._output, self._seed, self._keep = Path(output), seed, keep_checkpoints
        self._checkpoint_every = checkpoint_every
        self._position = Position()
        self._random: dict[str, Any] | None = None
        self._stepped = self._due = self._stops = False
        self._opened = ExitStack()

    # ------------------------------------------------------------------------------------------------ from the script

    def loader(self, trainer: Trainer, dataset: Any, batch_size: int, **keywords: Any) -> "DataLoader[Any]":
        """Return a loader of this rank's samples for the training, shuffled in every epoch.

        Args:
            trainer: The Trainer, which has this callback.
            dataset: A data set with `__len__` and `__getitem__`.
            batch_size: Samples of each rank and step.
            keywords: Other keywords of `torch.utils.data.DataLoader`, such as `num_workers`.
        """
        return on_all_ranks(lambda: self._make_loader(trainer, dataset, batch_size, keywords))

    def _make_loader(
        self, trainer: Trainer, dataset: Any, batch_size: int, keywords: dict[str, Any]
    ) -> "DataLoader[Any]":
        self._check(trainer, dataset, keywords)
        trainer.strategy.setup_environment()
        connect()
        self._sampler = EpochSampler(len(dataset), batch_size=batch_size, seed=self._seed)
        seeded = SeededDataset(dataset, self._seed)
        # With another generator: a loader draws a number when an epoch begins, which dropout would miss.
        made = DataLoader(seeded, batch_size, sampler=self._sampler, generator=torch.Generator(), **keywords)
        made.collate_fn = SeededCollate(made.collate_fn, seeded)
        return made

    def _check(self, trainer: Trainer, dataset: Any, keywords: dict[str, Any]) -> None:
        try:
            self._every = every(self._checkpoint_every)
        except argparse.ArgumentTypeError as error:
            raise UserError(f"'checkpoint_every' {error}") from error
        if self not in trainer.callbacks:
            raise UserError("the Trainer does not have this callback; give it with 'callbacks=[resume]'")
        if trainer.world_size > 1 and "WORLD_SIZE" not in os.environ:
            raise UserError(
                f"the Trainer would start {trainer.world_size} ranks itself; start the script with "
                f"'torchrun --nproc-per-node {trainer.world_size}', which starts them again after a loss"
            )
        if trainer.world_size > 1 and trainer._accelerator_connector.use_distributed_sampler:
            raise UserError(
                "'use_distributed_sampler' is True, with which the Trainer decides the order of the samples; give "
                "Trainer(use_distributed_sampler=False)"
            )
        if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
            raise UserError(
                f"the data set is a {type(dataset).__name__}, whose samples have no numbers, so that a run cannot "
                "resume at one; give a data set with '__len__' and '__getitem__'"
            )
        for name in {"shuffle", "sampler", "batch_sampler"} & keywords.keys():
            raise UserError(f"'{name}' is given, but the run decides the order, to resume in it; leave '{name}' out")

    def fit(self, trainer: Trainer, model: LightningModule, loader: "DataLoader[Any]", **keywords: Any) -> None:
        """Train in place of `trainer.fit`, from the newest undamaged checkpoint.

        Args:
            trainer: The Trainer.
            model: The model.
            loader: From `loader`.
            keywords: Those of `trainer.fit`, such as `val_dataloaders`, without `ckpt_path`.
        """
        try:
            found = on_all_ranks(self._begin)
            checkpoint = str(found.path / _FILE) if found else None
            # The state of the callback is in base64: it needs no pickle that runs code.
            trainer.fit(model, loader, ckpt_path=checkpoint, **keywords)
        finally:
            self._opened.close()
            watchdog.finished()

    def _begin(self) -> verified_folders.VerifiedFolder | None:
        if not hasattr(self, "_sampler"):
            raise UserError("the run has no data yet; call resume.loader(trainer, dataset, batch_size=…) before")
        watchdog.progress()
        self._stop = AgreedStop(self._every)
        on_rank_zero(lambda: files.make_writable(self._output, option="output"))
        self._opened.enter_context(locked(self._output))
        random_states.seed(self._seed, ranks.rank())
        return on_rank_zero(lambda: verified_folders.newest(self._output))

    # ---------------------------------------------------------------------------------------------- from the Trainer

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Learn when the optimizer steps: between two steps gradients are accumulated, and not saved."""
        for optimizer in trainer.optimizers[:1]:
            optimizer.register_step_post_hook(self._note_step)

    def _note_step(self, *_: Any) -> None:
        self._stepped = True

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Set the random states of the checkpoint, as late as possible: what begins draws some, too."""
        self._stepped = False
        if self._random is not None:
            random_states.restore(self._random)
            self._random = None

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count the step, and save where that is due."""
        self._position = self._position.after_step(ranks.size(), self._sampler.batch_size)
        stops, due = self._stop.after_step(self._position.step)
        self._stops, self._due = self._stops or stops, self._due or due or stops
        # The end of an epoch saves after it has counted.
        if self._due and self._stepped and not trainer.is_last_batch:
            on_all_ranks(lambda: self._save(trainer))

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count the epoch, and save where that is due, and after the last epoch."""
        self._position = self._position.after_epoch()
        self._sampler.position = self._position
        is_last = self._position.epoch == trainer.max_epochs
        self._due |= is_last or self._every.after_epoch(self._position.epoch)
        if self._due and (self._stepped or is_last):
            on_all_ranks(lambda: self._save(trainer))

    def on_validation_batch_end(self, *_: Any) -> None:
        """Report progress of an evaluation."""
        watchdog.progress()

    def state_dict(self) -> dict[str, Any]:
        """Return the position and the random states of all ranks; every rank must call it."""
        own = base64.b64encode(to_bytes(random_states.capture())).decode()
        return {"position": self._position.to_json(), "random": ranks.current().gather(own, "random states")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue at a position."""
        self._position = self._sampler.position = Position.from_json(state_dict["position"])
        of_ranks = state_dict["random"]
        if len(of_ranks) == ranks.size():
            self._random = from_bytes(base64.b64decode(of_ranks[ranks.rank()]))
        say(
            f"resuming after step {self._position.step}, {self._position.images} samples into epoch "
            f"{self._position.epoch + 1}: written by {len(of_ranks)} ranks, now {ranks.size()}"
        )

    def _save(self, trainer: Trainer) -> None:
        watchdog.progress()
        self._due = False
        folder = self._output / f"checkpoint-{self._position.step}"
        # A checkpoint of this step that a killed run has not completed.
        on_rank_zero(lambda: shutil.rmtree(folder, ignore_errors=True))
        trainer.save_checkpoint(folder / _FILE, weights_only=False)
        on_rank_zero(lambda: self._complete(folder))
        self._stop.saved()
        barrier()
        if self._stops:
            say(f"stopped on request after step {self._position.step}; the same command resumes from here")
            raise Stopped

    def _complete(self, folder: Path) -> None:
        verified_folders.complete(folder, ranks.size())
        verified_folders.remove_earlier(folder, self._keep)
