"""fuzz_tokenizer.py: random texts through pack's tokenizer and the `tokenizers` package, and what differs.

usage: fuzz_tokenizer.py tokenizer.json... [--texts N] [--seed S] [--variants V], from the repository's root; needs gcc, and `tokenizers` from PyPI
--variants tries V more of each, with random normalizers, pre-tokenizers, decoders, flags of the model and added tokens.
Builds the tokenizer's files with the sanitizers and a main of its own. Each difference is printed, cut to what still differs; exit status 1
if there is any."""
import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import Tokenizer

# Reads records (four bytes of length; then a text, or int32 ids) and prints a line for each: ids, or decoded bytes in hexadecimal.
ENCODER = r"""
#include "tools/pack/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    struct tokenizer *tokenizer;
    struct encoder *encoder;
    struct tokens tokens;
    char *out = NULL;
    unsigned size;
    if (argc != 3 || tokenizer_open(&tokenizer, argv[1]) != OK)
        return 65;
    if (encoder_open(&encoder, tokenizer) != OK)
        return 1;
    status_quiet(true);
    while (fread(&size, 4, 1, stdin) == 1) {
        char *data = malloc(size + (size == 0));
        size_t bytes = 0;
        if (fread(data, 1, size, stdin) != size)
            return 1;
        if (strcmp(argv[2], "encode") == 0 || strcmp(argv[2], "plain") == 0) {
            enum status status = tokenizer_encode(encoder, data, size, argv[2][0] == 'p', &tokens);
            for (int64_t i = 0; status == OK && i < tokens.count; i++) {
                if (tokens.begin[i] > size || (i > 0 && tokens.begin[i] < tokens.begin[i - 1]))
                    printf("begin of token %d does not rise ", (int)i);
                printf("%d ", tokens.id[i]);
            }
            printf("%s\n", status == OK ? "" : status_message());
        } else {
            if (tokenizer_decode(tokenizer, (int32_t *)data, size / 4, argv[2][0] == 's', &out, &bytes) != OK)
                return 1;
            for (size_t i = 0; i < bytes; i++)
                printf("%02x", (unsigned char)out[i]);
            printf("\n");
        }
        free(data);
    }
    free(out);
    encoder_close(encoder);
    tokenizer_close(tokenizer);
    return 0;
}
"""
FILES = "added bpe decode encode known memory normalize source split stages_before stages_behind tokenizer unicode vocabulary"

SHOWN = 4    # differences of a tokenizer and mode that are printed

# Characters that the rules of tokenizers look at, each alone and beside the others.
SPACES = " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u2003\u2007\u200a\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
MARKS = "\u0300\u0301\u0308\u0323\u0327\u0345\u034f\u05b0\u064b\u093c\u094d\u09be\u0e38\u1dc4\u20d0\u20dd\u3099\u309a\ufe0f\u200d\u200c\U0001d165\U000e0101"
FORMS = ("\u00c5\u212b\u1e9b\u0344\u0390\u1fd3\u0958\u09cb\u0f43\u1100\u1161\u11a8\uac00\uac01\ufb01\uff21\uff9e\u00bd\u2460\u2126\u1f71\u2adc"
         "\ufb1d\U0001d15e\U0002f800\ufb2c\u01c4\u0130\u0131\u017f\u03a3\u03c2\u1e9e\u00df\u212a\u0149")
DIGITS = "0123456789\u0660\u0669\u0966\u00b2\u00bd\u2167\u2460\u3007\U0001d7ce\uff10"
LATIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u2019\u201c\u3001\u00bf\u2026\u2581\u0120\u010a\u00ad\uff5c"
CONTRACTIONS = ["'s", "'S", "'\u017f", "'t", "'re", "'VE", "'m", "'ll", "'LL", "'d", "'D", "''", "\u2019s"]
WORDS = ["the", " the", "Hello", " world", "don't", "x=1", "if (", "){\n", "\r\n", "\n\n", "    ", "http://", "\u4f60\u597d", "\u043f\u0440\u0438\u0432\u0435\u0442",
         "\u0645\u0631\u062d\u0628\u0627", "\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u0928\u092e\u0938\u094d\u0924\u0947", "<0x0A>", "<0xC3>", "<unk>"]


def assigned(r, low, high):
    """A character of Unicode 3.2, or a later letter or symbol that does not decompose: what else is newer, both sides' tables may class differently."""
    while True:
        c = chr(r.randrange(low, high))
        if unicodedata.ucd_3_2_0.category(c) not in ("Cs", "Cn") or (unicodedata.category(c) in ("Lo", "So") and not unicodedata.decomposition(c)):
            return c


def piece(r, special):
    kind = r.randrange(16)
    if kind == 0:
        return assigned(r, 0x20, 0x3000)
    if kind == 1:
        return assigned(r, 0x3000, 0x11000)
    if kind == 2:
        return assigned(r, 0x10000, 0x110000)
    if kind == 3:
        return r.choice(LATIN + FORMS) + "".join(r.choice(MARKS) for _ in range(r.choice((1, 1, 2, 3, 20))))
    if kind == 4:
        return "".join(chr(r.randrange(0x20)) for _ in range(r.randrange(1, 4)))
    if kind == 5:
        return r.choice(special) if special else ""
    if kind == 6:
        token = r.choice(special) if special else ""
        return r.choice((token[1:], token[:-1], token[0:1] + token, token + token, token.upper()))
    if kind == 7:
        return r.choice(SPACES) * r.choice((1, 2, 3, 7, 50))
    if kind == 8:
        return "".join(r.choice(SPACES) for _ in range(r.randrange(1, 12)))
    if kind == 9:
        return "".join(r.choice(DIGITS) for _ in range(r.randrange(1, 12)))
    if kind == 10:
        return "".join(r.choice(LATIN) for _ in range(r.randrange(1, 9)))
    if kind == 11:
        return "".join(r.choice(PUNCTUATION) for _ in range(r.randrange(1, 6)))
    if kind == 12:
        return r.choice(CONTRACTIONS)
    if kind == 13:
        return r.choice(FORMS) * r.randrange(1, 4)
    if kind == 14:
        return r.choice(LATIN + PUNCTUATION + SPACES) * r.randrange(1, 80)
    return r.choice(WORDS)


def pattern(r):
    return {"String": r.choice((" ", "a", "\u2581", "e\u0301", "\n", ".", "(", "aa"))} if r.random() < 0.5 else {"Regex": r.choice(
        (r"\s+", r"\p{L}+|\p{N}", r"[^\s\p{P}]+", r"\S", r" ?\w+", r"\d{1,3}(?=(\d{3})*\b)", r"[\s\p{Z}]", r"a*", r"(?<=a)b", r".", r"[^a-z]+$", r"^\s*\w", r"\b", r"\B", r"\h+", r"[\w']+", r"\W+", r"(?m:a.b)", r"(?i:\u017f|k|\u00df)", r"\v", r"[^\r\n\p{L}\p{N}]?+\p{L}++",
         r"\R", r"(?=(\d{3})+(?!\d))", r"[\]\[]", r"[\h_]", r"\d", r"\p{Lu}?[\p{Ll}\p{M}]+", r"(?<!\s)\s", r"\z|\A."))}


def normalizers(r):
    kinds = [{"type": x} for x in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")]
    kinds += [{"type": "Strip", "strip_left": r.random() < 0.5, "strip_right": r.random() < 0.5}, {"type": "Prepend", "prepend": r.choice(("\u2581", "ab", " "))}]
    kinds += [{"type": "Replace", "pattern": {"String": r.choice((" ", "a", "aa", "e\u0301", "\n"))}, "content": r.choice(("\u2581", "", "aa", " a"))}]
    return r.choice((None, {"type": "Sequence", "normalizers": r.choices(kinds, k=r.randrange(4))}))


def pre_tokenizers(r, byte_level):
    behaviours = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
    parts = []
    if not byte_level and r.random() < 0.4:
        scheme = r.choice(("always", "first", "never"))
        parts.append({"type": "Metaspace", "replacement": r.choice(("\u2581", "_")), "prepend_scheme": scheme, "split": r.random() < 0.6})
    for _ in range(r.randrange(3)):
        parts.append(r.choice(({"type": "Digits", "individual_digits": r.random() < 0.5}, {"type": "Punctuation", "behavior": r.choice(behaviours)},
                               {"type": "Whitespace"}, {"type": "WhitespaceSplit"},
                               {"type": "Split", "pattern": pattern(r), "behavior": r.choice(behaviours), "invert": r.random() < 0.3})))
    if byte_level:
        parts.append({"type": "ByteLevel", "add_prefix_space": not parts and r.random() < 0.5, "trim_offsets": True, "use_regex": r.random() < 0.5})
    return {"type": "Sequence", "pretokenizers": parts} if parts else None


def decoders(r):
    parts = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
             {"type": "Strip", "content": " ", "start": r.randrange(3), "stop": 0},
             {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": r.choice(("always", "first", "never")), "split": True}]
    return {"type": "Sequence", "decoders": r.choices(parts, k=r.randrange(1, 5))}


def variant(r, tokenizer):
    tokenizer = json.loads(json.dumps(tokenizer))
    model = tokenizer["model"]
    byte_level = (tokenizer["decoder"] or {}).get("type") == "ByteLevel"
    tokenizer["normalizer"] = normalizers(r)
    tokenizer["pre_tokenizer"] = pre_tokenizers(r, byte_level)
    if not byte_level:
        tokenizer["decoder"] = decoders(r)
        model["byte_fallback"] = r.random() < 0.5
        model["unk_token"] = r.choice((model.get("unk_token"), None))
        model["fuse_unk"] = r.random() < 0.5
    model["ignore_merges"] = r.random() < 0.5
    id_ = max(list(model["vocab"].values()) + [t["id"] for t in tokenizer["added_tokens"]]) + 1
    for content in r.sample(["<r>", "<r>>", "ab cd", " ab", "\t\t", "zqzq", "\u00c9q", "Ez", "E\u0301z", "12q", "\n\n \n"], r.randrange(5)):
        if content not in model["vocab"]:
            tokenizer["added_tokens"].append({"id": id_, "content": content, "special": r.random() < 0.4} |
                                             {flag: r.random() < 0.3 for flag in ("single_word", "lstrip", "rstrip", "normalized")})
            added = tokenizer["added_tokens"][-1]
            added["special"] &= not added["normalized"]    # one that is both the reference shows where special ones are to be left out
            id_ += 1
    return tokenizer


def build(folder):
    with open(f"{folder}/encoder.c", "w", encoding="utf-8") as file:
        file.write(ENCODER)
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-g", "-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-I.", "-Isrc",
                    f"{folder}/encoder.c", *(f"tools/pack/{name}.c" for name in FILES.split()), "platform/status.c",
                    "-ljansson", "-lpcre2-8", "-lutf8proc", "-lxxhash", "-lm", "-o", f"{folder}/encoder"], check=True)
    return f"{folder}/encoder"


def run(encoder, path, mode, records):
    data = b"".join(struct.pack("<I", len(x)) + x for x in records)
    done = subprocess.run([encoder, path, mode], input=data, capture_output=True, check=False)
    if done.returncode == 65:
        raise ValueError(done.stderr.decode().strip())
    if done.returncode != 0:
        sys.exit(f"{encoder} {path} {mode}: exit code {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout.decode().split("\n")[:-1]


def smallest(differs, text):
    """The text without whatever can be left out and it still differs."""
    step = max(1, len(text) // 2)
    while step >= 1:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + step:]
            if differs(shorter):
                text = shorter
            else:
                at += step
        step //= 2
    return text


def ids_of(tokenizer, text):
    """The reference's ids; None where it panics, as it does with some tokenizers that nobody has."""
    try:
        return tokenizer.encode(text, add_special_tokens=False).ids
    except BaseException as error:
        if "Panic" not in type(error).__name__ and not isinstance(error, Exception):
            raise
        return None


def text_of(tokenizer, ids, skip):
    try:
        return tokenizer.decode(ids, skip_special_tokens=skip).encode()
    except BaseException as error:
        if "Panic" not in type(error).__name__ and not isinstance(error, Exception):
            raise
        return None


def check(encoder, path, texts, report):
    tokenizer = Tokenizer.from_file(path)
    ids_text = lambda line: [int(x) for x in line.split()] if all(x.isdigit() for x in line.split()) else line
    differs = lambda right, line: right is not None and ids_text(line) != right
    for mode in ("encode", "plain"):
        tokenizer.encode_special_tokens = mode == "plain"
        for text, line in zip(texts, run(encoder, path, mode, [t.encode() for t in texts]), strict=True):
            if differs(ids_of(tokenizer, text), line):
                text = smallest(lambda t: differs(ids_of(tokenizer, t), run(encoder, path, mode, [t.encode()])[0]), text)
                report(path, mode, [text, ids_of(tokenizer, text), run(encoder, path, mode, [text.encode()])[0]])
    tokenizer.encode_special_tokens = False
    encoded = [ids for ids in (ids_of(tokenizer, text) for text in texts) if ids is not None]
    for mode in ("decode", "skip"):
        lines = run(encoder, path, mode, [struct.pack(f"<{len(x)}i", *x) for x in encoded])
        for ids, line in zip(encoded, lines, strict=True):
            right = text_of(tokenizer, ids, mode == "skip")
            if right is not None and bytes.fromhex(line) != right:
                report(path, mode, [ids, right.decode(), bytes.fromhex(line).decode()])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tokenizer", nargs="+")
    arguments.add_argument("--texts", type=int, default=4000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--variants", type=int, default=0)
    arguments = arguments.parse_args()
    found = []

    def report(path, mode, what):
        found.append((path, mode))
        if found.count((path, mode)) <= SHOWN:
            print(f"{path}: {mode}: {json.dumps(what)}")

    with tempfile.TemporaryDirectory() as folder:
        encoder = build(folder)
        for path in arguments.tokenizer:
            r = random.Random(f"{arguments.seed} {path}")
            with open(path, encoding="utf-8") as file:
                original = json.load(file)
            for number in range(1 + arguments.variants):
                tokenizer = original if number == 0 else variant(r, original)
                special = [t["content"] for t in tokenizer["added_tokens"]]
                if number > 0:
                    path = f"{folder}/variant-{number}.json"
                    with open(path, "w", encoding="utf-8") as file:
                        json.dump(tokenizer, file)
                texts = ["".join(piece(r, special) for _ in range(r.choice((1, 2, 3, 5, 8, 13)))) for _ in range(arguments.texts)]
                before = len(found)
                try:
                    check(encoder, path, texts, report)
                except ValueError as refusal:    # a variant that contradicts itself
                    print(refusal)
                if len(found) > before and number > 0:
                    known = original["added_tokens"]
                    print("    of", json.dumps({k: v for k, v in tokenizer.items() if k in ("normalizer", "pre_tokenizer", "decoder")} |
                                               {k: v for k, v in tokenizer["model"].items() if k not in ("vocab", "merges")} |
                                               {"added": [t for t in tokenizer["added_tokens"] if t not in known]}))
    print(f"{len(found)} differences in {arguments.texts} texts a tokenizer, {len(arguments.tokenizer)} tokenizers, seed {arguments.seed}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
