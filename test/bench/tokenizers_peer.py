"""The tokenizers package over the lines of a file, one thread. Prints MB/s, the best of three passes, and the number of ids.

usage: tokenizers_peer.py TOKENIZER_JSON FILE
"""

import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers

tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
text = open(sys.argv[2], encoding="utf-8", newline="").read()
size = len(text.encode())
lines = text.removesuffix("\n").split("\n")
encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)      # without offsets, where it has that
best = 1e9
for _ in range(3):
    begin = time.perf_counter()
    encoded = encode(lines, add_special_tokens=False)
    best = min(best, time.perf_counter() - begin)
print(f"{size / best / 1e6:.2f} {sum(len(one.ids) for one in encoded)}")
