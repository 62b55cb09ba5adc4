"""A callback with which a Trainer stops, and continues exactly."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..runtime import files, ranks, watchdog
from ..runtime.distributed import barrier, on_rank_zero, say
from ..runtime.errors import UserError
from ..runtime.every import Every
from ..runtime.run_lock import locked
from ..runtime.stop_request import Stopped
from ..torch import verified_folders
from ..torch.agreed_stop import AgreedStop
from ..torch.connection import connect, on_all_ranks
from ..torch.seeded_collate import SeededCollate
from ..torch.seeded_dataset import SeededDataset

# The Trainer decides when it saves.
_NEVER = Every(2**62, "steps")


class ResumeCallback(TrainerCallback):
    """Completes the checkpoints of a Trainer with checksums, and ends the run on a stop request, when it is saved.

    ```
    resume = ResumeCallback()
    trainer = Trainer(model=model, args=arguments, train_dataset=dataset, callbacks=[resume])
    resume.train(trainer)
    ```

    Checkpoints are those of the Trainer, in its `output_dir`, as often as its `save_steps` say. After a kill the run
    continues at the step of the newest one: with the same number of ranks, to the same bits.
    """

    def __init__(self) -> None:
        """Do nothing before `train`."""
        self._opened = ExitStack()
        self._stops = False

    def train(self, trainer: Trainer, **keywords: Any) -> Any:
        """Train in place of `trainer.train()`, from the newest undamaged checkpoint in its folder.

        Args:
            trainer: The Trainer, which has this callback.
            keywords: Those of `trainer.train`, without `resume_from_checkpoint`.

        Returns:
            What `trainer.train` returns.
        """
        found = on_all_ranks(lambda: self._begin(trainer))
        try:
            return trainer.train(resume_from_checkpoint=str(found.path) if found else None, **keywords)
        finally:
            self._opened.close()
            watchdog.finished()

    def _begin(self, trainer: Trainer) -> verified_folders.VerifiedFolder | None:
        connect()
        self._check(trainer)
        self._stop, self._output = AgreedStop(_NEVER), Path(trainer.args.output_dir)
        self._dataset = SeededDataset(trainer.train_dataset, trainer.args.seed)
        trainer.train_dataset = self._dataset
        trainer.data_collator = SeededCollate(trainer.data_collator, self._dataset)
        watchdog.progress()
        on_rank_zero(lambda: files.make_writable(self._output, option="output_dir"))
        self._opened.enter_context(locked(self._output))
        found = on_rank_zero(lambda: verified_folders.newest(self._output))
        if found and found.ranks != ranks.size():
            say(
                f"warning: {found.path} was written by {found.ranks} ranks, now {ranks.size()}: the Trainer counts "
                "steps, so that in this epoch some samples are seen twice or not at all; start as many ranks to "
                "continue exactly"
            )
        return found

    def _check(self, trainer: Trainer) -> None:
        """Reject a Trainer that cannot continue exactly."""
        arguments, dataset = trainer.args, trainer.train_dataset
        if self not in trainer.callback_handler.callbacks:
            raise UserError("the Trainer does not have this callback; give it with 'callbacks=[resume]'")
        if isinstance(dataset, torch.utils.data.IterableDataset) or not hasattr(dataset, "__len__"):
            raise UserError(
                f"the training data set is a {type(dataset).__name__}, whose samples have no numbers; give one with "
                "'__len__' and '__getitem__', such as a datasets.Dataset that is not streamed"
            )
        for name, given, wrong, fix in (
            ("save_strategy", arguments.save_strategy, ("no", "best"), "give 'steps' or 'epoch'"),
            ("save_only_model", arguments.save_only_model, (True,), "leave it out: the optimizer must be saved, too"),
            ("ignore_data_skip", arguments.ignore_data_skip, (True,), "leave it out"),
            ("save_total_limit", arguments.save_total_limit, (1,), "give 2 or more: the newest may be unfinished"),
        ):
            if given in wrong:
                raise UserError(f"'{name}' is {getattr(given, 'value', given)!r}, with which no run resumes; {fix}")

    # ---------------------------------------------------------------------------------------------- from the Trainer

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Let samples draw the random numbers of this epoch."""
        self._dataset.set_epoch(int(state.epoch or 0))
        watchdog.progress()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Save and stop where a rank got a stop request."""
        stops, _due = self._stop.after_step(state.global_step)
        if stops:
            self._stops = True
            control.should_save = control.should_training_stop = True
        return control

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Report progress of an evaluation."""
        watchdog.progress()

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Complete the checkpoint of the Trainer."""
        on_all_ranks(lambda: self._complete(state.global_step))

    def _complete(self, step: int) -> None:
        watchdog.progress()
        # Each rank has written its random states.
        barrier()
        folder = self._output / f"checkpoint-{step}"
        on_rank_zero(lambda: verified_folders.complete(folder, ranks.size()))
        if self._stops:
            say(f"stopped on request after step {step}; the same command resumes from here")
            raise Stopped
