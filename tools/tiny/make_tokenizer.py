"""Trains the demo's tokenizer on the demo's corpus: `make_tokenizer.py corpus.jsonl demo/model`. Part of `make tiny`; needs the tokenizers package."""

import json
import pathlib
import sys

import tokenizers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")

corpus, folder = sys.argv[1], pathlib.Path(sys.argv[2])
texts = [message["content"] for line in open(corpus) for message in json.loads(line)["messages"]]
tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = tokenizers.decoders.ByteLevel()
trainer = tokenizers.trainers.BpeTrainer(vocab_size=640, special_tokens=SPECIAL, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
tokenizer.train_from_iterator(texts + ["user\n", "assistant\n", "system\n"] * 1000, trainer)
tokenizer.save(str(folder / "tokenizer.json"))
config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": TEMPLATE,
          "model_max_length": 256, "clean_up_tokenization_spaces": False}
(folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
print(tokenizer.get_vocab_size(), "tokens")
