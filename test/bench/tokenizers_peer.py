"""The tokenizers package over the lines of a file, one thread. Prints MB/s, the best of three passes. usage: tokenizers_peer.py TOKENIZER_JSON FILE"""

import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers

tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
lines = open(sys.argv[2], encoding="utf-8").read().split("\n")
size = sum(len(line.encode()) for line in lines)
best = 1e9
for _ in range(3):
    begin = time.perf_counter()
    tokenizer.encode_batch(lines, add_special_tokens=False)
    best = min(best, time.perf_counter() - begin)
print(size / best / 1e6)
