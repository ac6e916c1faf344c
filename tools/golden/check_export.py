"""Does a saved folder load in transformers unchanged, with the loss that the run reported? By hand, with PyTorch; no test needs it.

usage: check_export.py FOLDER texts.jsonl SUMMARY_JSON      texts.jsonl: {"text"} a line, each evaluated alone, special tokens added
Prints both losses; exit status 1 if they differ by more than 1e-4.
"""

import json
import sys

import torch
import transformers

folder, texts, summary = sys.argv[1:]
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
total, targets = 0.0, 0
with torch.no_grad():
    for line in open(texts):
        ids = torch.tensor([tokenizer.encode(json.loads(line)["text"])])
        loss = model(ids, labels=ids).loss.item()
        total += loss * (ids.shape[1] - 1)
        targets += ids.shape[1] - 1
reported = json.load(open(summary))
seen, right = total / targets, reported["loss_after"]
print(f"transformers {seen:.6f} over {targets} targets; the run said {right:.6f} over {reported['held_out_targets']}")
sys.exit(0 if abs(seen - right) < 1e-4 and targets == reported["held_out_targets"] else 1)
