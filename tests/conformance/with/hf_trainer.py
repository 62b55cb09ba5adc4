"""Fine-tune a small BERT with Hugging Face's Trainer, whose collator masks words at random."""

import torch
from exact_resume.transformers import ResumeCallback
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments, set_seed


class Sentences(torch.utils.data.Dataset):
    """Sentences of 16 words, each of which follows from the one before."""

    def __len__(self) -> int:
        return 512

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"input_ids": (torch.arange(16) * (1 + number % 7) + number) % 60 + 4}


def mask(samples: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    words = torch.stack([sample["input_ids"] for sample in samples])
    chosen = torch.rand(words.shape) < 0.15
    return {"input_ids": words.masked_fill(chosen, 3), "labels": words.masked_fill(~chosen, -100)}


class Printer(TrainerCallback):
    """Prints the loss of each logged step."""

    def on_log(self, args, state, control, logs=None, **_):
        if state.is_world_process_zero and "loss" in logs:
            print(f"step {state.global_step}: loss {float(logs['loss']):.6f}", flush=True)


def main() -> None:
    set_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForMaskedLM(BertConfig(vocab_size=64, max_position_embeddings=16, **sizes))
    arguments = TrainingArguments(
        "out",
        num_train_epochs=4,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        logging_steps=1,
        save_steps=10,
        save_total_limit=2,
        seed=1,
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
    )
    resume = ResumeCallback()
    trainer = Trainer(model, arguments, train_dataset=Sentences(), data_collator=mask, callbacks=[resume, Printer()])
    resume.train(trainer)
    trainer.save_model("out/final")


main()
