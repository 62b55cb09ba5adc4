"""Train a small language model with Hugging Face's Trainer; put your data and your model in their place.

trainctl run-local train.py --ranks 2
"""

import argparse
from pathlib import Path

import torch
from exact_resume.transformers import ResumeCallback
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

SEED = 0

parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
# No job has this folder: a job and the script, run at once, write into two.
parser.add_argument("--output-dir", type=Path, default=Path("runs/train.py"), help="of the checkpoints (%(default)s)")
parser.add_argument("--epochs", type=int, default=6, help="passes over the texts (%(default)s)")
parser.add_argument("--batch-size", type=int, default=16, help="texts per rank and step (%(default)s)")
parser.add_argument("--learning-rate", type=float, default=0.002, help="of the optimizer (%(default)s)")
parser.add_argument("--checkpoint-every", default="500steps", help="so many steps of the optimizer (%(default)s)")
options = parser.parse_args()


class Countings(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Texts that count on from a number, modulo 64, in steps of 1 to 4."""

    def __len__(self) -> int:
        """Return the number of texts."""
        return 1024

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        """Return a text, whose words are the labels too."""
        text = (number + torch.arange(16) * (1 + number % 4)) % 64
        return {"input_ids": text, "labels": text}


torch.manual_seed(SEED)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2))
arguments = TrainingArguments(
    output_dir=str(options.output_dir),
    save_strategy="steps",
    save_steps=int(options.checkpoint_every.removesuffix("steps")),
    save_total_limit=3,
    num_train_epochs=options.epochs,
    per_device_train_batch_size=options.batch_size,
    learning_rate=options.learning_rate,
    logging_steps=5,
    report_to="none",
    disable_tqdm=True,
    seed=SEED,
)
# A killed run resumes at the next step, with the same results: train() in place of the Trainer's.
resume = ResumeCallback()
resume.train(Trainer(model=model, args=arguments, train_dataset=Countings(), callbacks=[resume]))
