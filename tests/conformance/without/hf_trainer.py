"""Train a small language model with the Trainer of Transformers."""

import os

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint


class Sequences(Dataset):
    def __init__(self):
        self.tokens = torch.randint(0, 64, (512, 16), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


torch.manual_seed(0)
config = GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
arguments = TrainingArguments(
    output_dir="output",
    per_device_train_batch_size=8,
    num_train_epochs=3,
    learning_rate=1e-3,
    logging_steps=2,
    save_steps=10,
    save_total_limit=2,
    report_to="none",
    use_cpu=True,
    seed=1,
)
trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Sequences())
last = get_last_checkpoint("output") if os.path.isdir("output") else None
trainer.train(resume_from_checkpoint=last)
trainer.save_model("final")
