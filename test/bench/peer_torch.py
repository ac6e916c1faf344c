"""The same step in PyTorch, as an honest peer: fp32, fused attention, fused AdamW. Prints one JSON line.

usage: peer_torch.py ROWS STEPS THREADS     a SmolLM2-135M-shaped full fine-tune at 512 tokens a row
"""

import json
import os
import resource
import sys
import time

# When the process began: seconds after the machine did, in clock ticks, the 22nd field of stat (counted after the name, which may hold spaces).
begun = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")

import torch
import transformers

rows, steps, threads = map(int, sys.argv[1:])
torch.set_num_threads(threads)
config = transformers.LlamaConfig(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
                                  vocab_size=49152, max_position_embeddings=8192, tie_word_embeddings=True, use_cache=False)
config._attn_implementation = "sdpa"
model = transformers.LlamaForCausalLM(config)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
ids = torch.randint(0, 49152, (rows, 512))
first_step = time.clock_gettime(time.CLOCK_BOOTTIME) - begun
seconds = []
for _ in range(steps + 1):
    begin = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    model(input_ids=ids, labels=ids).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    seconds.append(time.perf_counter() - begin)
later = sorted(seconds[1:])      # the first step warms up
middle = later[(len(later) - 1) // 2]
print(json.dumps({"tokens_per_second": rows * 512 / middle, "first_step_seconds": first_step,
                  "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "torch": torch.__version__}))
