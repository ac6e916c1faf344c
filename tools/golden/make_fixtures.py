"""Writes the fixtures under test/golden/<model>/ from PyTorch and transformers. `make golden` runs it; no test does.

For each tiny model (its config.json is kept by hand):
  model.safetensors      initial weights, bf16, names as transformers has them
  rows.json              packed rows of 64 tokens: documents with their ids and learned flags; STEPS batches of ROWS rows
  gradients.safetensors  every gradient of the first batch, before clipping; computed in fp64, stored in fp32
  final.safetensors      parameters after STEPS AdamW steps in fp64 arithmetic, stored in fp32
  expected.json          losses, norms and learning rates of the steps, versions, what was checked
fp64 makes the fixture the truth: what a right fp32 program may differ by is then its own rounding alone.
"""

import json
import math
import pathlib
import sys

import numpy
import safetensors.torch
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2] / "test" / "golden"
MODELS = ["tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-mistral"]
SEQUENCE, ROWS, STEPS, WARMUP = 64, 4, 10, 4
RATE, FLOOR, CLIP, DECAY, BETAS, EPSILON = 3e-3, 0.1, 1.0, 0.1, (0.9, 0.95), 1e-8


def learning_rate(step):
    """Step from 1: linear to RATE at WARMUP, then a cosine down to FLOOR * RATE at the last step."""
    if step <= WARMUP:
        return RATE * step / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return RATE * (FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * progress)))


def make_rows(random, vocabulary):
    """Rows of documents of every kind: one token, two, a few, and one that fills the row; prompts that are not learned."""
    rows = []
    for index in range(STEPS * ROWS):
        room, documents = SEQUENCE - (0 if index % 3 else int(random.integers(0, 9))), []
        while room > 0:
            length = 1 if documents and random.random() < 0.2 else int(random.integers(1, room + 1))
            if index % 7 == 3:
                length = room
            if not documents and length < 4:
                length = 4
            ids = random.integers(0, vocabulary, length).tolist()
            for t in range(2, length):
                if random.random() < 0.6:
                    ids[t] = (ids[t - 1] + 3) % vocabulary
            learned = [int(t >= length // 3 and t > 0) for t in range(length)]
            documents.append({"ids": ids, "learned": learned})
            room -= length
        rows.append(documents)
    return rows


def initial_weights(model, random):
    """Larger than usual, so that no gradient drowns in rounding: logits of unit size, gains around 1, biases of half."""
    for name, parameter in model.named_parameters():
        values = random.standard_normal(parameter.shape)
        if name.endswith("norm.weight"):
            values = 1 + 0.3 * values
        elif name.endswith("bias"):
            values = 0.5 * values
        elif "embed_tokens" in name:
            values = 0.5 * values
        else:
            values = values * 0.8 / math.sqrt(parameter.shape[1])
        parameter.data = torch.tensor(values).to(torch.bfloat16).to(torch.float64)


def row_tensors(documents, window):
    """Ids, positions, targets (-100: none) and the additive mask of one packed row: documents do not see each other."""
    ids, positions, targets, owner = [], [], [], []
    for number, document in enumerate(documents):
        length = len(document["ids"])
        ids += document["ids"]
        positions += range(length)
        owner += [number] * length
        targets += [document["ids"][t + 1] if t + 1 < length and document["learned"][t + 1] else -100 for t in range(length)]
    place = torch.arange(len(ids))
    owner = torch.tensor(owner)
    seen = (owner[:, None] == owner[None, :]) & (place[None, :] <= place[:, None])
    if window:
        seen &= place[:, None] - place[None, :] < window
    mask = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -math.inf)[None, None]
    return torch.tensor([ids]), torch.tensor([positions]), torch.tensor(targets), mask


def row_loss(model, documents, window):
    """Sum of the row's losses, and how many targets it has."""
    ids, positions, targets, mask = row_tensors(documents, window)
    masks = {"full_attention": mask, "sliding_attention": mask}
    attention = masks if model.config.model_type in ("qwen2", "qwen3") else mask
    logits = model(input_ids=ids, position_ids=positions, attention_mask=attention, use_cache=False).logits[0]
    loss = torch.nn.functional.cross_entropy(logits, targets, ignore_index=-100, reduction="sum")
    return loss, int((targets != -100).sum())


def backward_batch(model, rows, window):
    """Gradient of the batch's loss, divided once by all its targets. Returns the mean loss and the number of targets."""
    model.zero_grad()
    targets = sum(row_loss(model, documents, window)[1] for documents in rows)
    total = 0.0
    for documents in rows:
        loss, _ = row_loss(model, documents, window)
        (loss / targets).backward()
        total += loss.item()
    return total / targets, targets


def check_packing(model, documents, window):
    """A packed row has the loss and the gradients of its documents alone."""
    packed, _ = row_loss(model, documents, window)
    model.zero_grad()
    packed.backward()
    gradient = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    alone = 0.0
    for document in documents:
        loss, count = row_loss(model, [document], window)
        if count:
            loss.backward()
            alone += loss.item()
    worst = max(((p.grad - gradient[name]).norm() / gradient[name].norm()).item() for name, p in model.named_parameters())
    assert abs(alone - packed.item()) < 1e-9 * packed.item() and worst < 1e-9, (alone, packed.item(), worst)


def decays(name):
    return not (name.endswith("norm.weight") or name.endswith("bias"))


def make(name):
    random = numpy.random.default_rng(sum(map(ord, name)))
    folder = ROOT / name
    config = transformers.AutoConfig.from_pretrained(folder)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).to(torch.float64)
    make_exact(model, config)
    window = config.sliding_window if config.model_type == "mistral" else None
    initial_weights(model, random)
    names = dict(model.named_parameters())
    safetensors.torch.save_file({n: p.data.to(torch.bfloat16).contiguous() for n, p in names.items()}, folder / "model.safetensors", {"format": "pt"})
    rows = make_rows(random, config.vocab_size)
    (folder / "rows.json").write_text(json.dumps({"sequence": SEQUENCE, "rows_a_step": ROWS, "rows": rows}, separators=(",", ":")) + "\n")
    check_packing(model, rows[0], window)

    groups = [{"params": [p for n, p in names.items() if decays(n)], "weight_decay": DECAY},
              {"params": [p for n, p in names.items() if not decays(n)], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)
    losses, norms, targets, rates = [], [], [], []
    for step in range(1, STEPS + 1):
        loss, count = backward_batch(model, rows[(step - 1) * ROWS : step * ROWS], window)
        if step == 1:
            safetensors.torch.save_file({n: p.grad.to(torch.float32).contiguous() for n, p in names.items()}, folder / "gradients.safetensors")
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        losses.append(loss)
        targets.append(count)
        rates.append(learning_rate(step))
        optimizer.step()
    safetensors.torch.save_file({n: p.data.to(torch.float32).contiguous() for n, p in names.items()}, folder / "final.safetensors")
    assert max(norms) > CLIP, norms      # clipping must bite, or it is not tested
    expected = {"losses": losses, "norms": norms, "targets": targets, "learning_rates": rates, "steps": STEPS, "rows_a_step": ROWS,
                "torch": torch.__version__, "transformers": transformers.__version__}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    print(name, "loss", losses[0], "to", losses[-1], "norm", norms[0], norms[-1], "parameters", sum(p.numel() for p in names.values()))


def make_exact(model, config):
    """transformers computes rotary tables, norms and softmax in fp32 whatever the model's type; here they are fp64 too."""
    softmax = torch.nn.functional.softmax
    torch.nn.functional.softmax = lambda x, dim=-1, dtype=None: softmax(x, dim=dim)
    for module in model.modules():
        if hasattr(module, "inv_freq"):
            module.inv_freq = exact_frequencies(module, config)
            module.forward = exact_rotary(module)
        if hasattr(module, "variance_epsilon"):
            module.forward = exact_norm(module)


def exact_norm(module):
    def forward(x):
        return module.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + module.variance_epsilon)
    return forward


def exact_frequencies(module, config):
    """The frequencies of transformers' own rule, with fp64 inside."""
    base = getattr(config, "rope_theta", None) or config.rope_parameters["rope_theta"]
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    plain = 1.0 / base ** (torch.arange(0, size, 2, dtype=torch.float64) / size)
    scaling = getattr(config, "rope_parameters", None) or config.rope_scaling
    if scaling is None or scaling.get("rope_type", "default") == "default":
        exact = plain
    else:
        factor, low, high, original = (scaling[k] for k in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
        wavelength = 2 * math.pi / plain
        smooth = (original / wavelength - low) / (high - low)
        between = (1 - smooth) * plain / factor + smooth * plain
        exact = torch.where(wavelength > original / low, plain / factor, torch.where(wavelength < original / high, plain, between))
    # The same rule as transformers': its fp32 result is this one, rounded on the way.
    assert torch.allclose(exact, module.inv_freq.to(torch.float64), rtol=1e-5), (exact, module.inv_freq)
    return exact


def exact_rotary(module):
    def forward(x, position_ids, *_):
        angle = position_ids[..., None].to(torch.float64) * module.inv_freq
        both = torch.cat((angle, angle), dim=-1)
        return both.cos() * module.attention_scaling, both.sin() * module.attention_scaling
    return forward


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(2)
    for model_name in sys.argv[1:] or MODELS:
        make(model_name)
