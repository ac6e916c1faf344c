/* tokenizer.h: text to ids, as the model's own tokenizer.json says. Build host, any thread.
 *
 * Reads Hugging Face tokenizer.json: BPE with the normalizers, pre-tokenizers, added tokens and byte fallback that Qwen2/2.5/3, Llama-2/3,
 * SmolLM2/GPT-2, Mistral and Phi-3 need, and the other small ones. A type or option that is not known is an error that names it; nothing is skipped.
 * (1) After tokenizer_open the tokenizer is read only: any number of threads encode with it, each with its own struct encoder. */
#ifndef TOOLS_PACK_TOKENIZER_H
#define TOOLS_PACK_TOKENIZER_H

#include "platform/status.h"

struct tokenizer;
struct encoder;      /* one thread's scratch memory and word cache */

/* path is tokenizer.json. Returns OK; E_READ if it cannot be read; E_DATA, naming the key or merge, if it is damaged or not supported. */
MUST_USE enum status tokenizer_open(struct tokenizer **tokenizer, const char *path);
void tokenizer_close(struct tokenizer *tokenizer);

MUST_USE enum status encoder_open(struct encoder **encoder, const struct tokenizer *tokenizer);
void encoder_close(struct encoder *encoder);

struct tokens {
    const int32_t *id;        /* [count] */
    const uint32_t *begin;    /* [count] byte of text at which the token starts; ascending, within [0, bytes] */
    int64_t count;
};
/* Encodes text (UTF-8, bytes long; may hold NUL) without the special tokens of the post-processor; added tokens that stand in the text become
 * their ids. tokens points into the encoder, valid until its next call. Returns OK, or E_DATA (bad UTF-8, with the byte; a pattern that ran into the
 * match limit). Control tokens in text are found unless plain is true: then the text of added special tokens is ordinary text. */
MUST_USE enum status tokenizer_encode(struct encoder *encoder, const char *text, size_t bytes, bool plain, struct tokens *tokens);

/* Makes the text of ids, as the file's decoder says; without one, the tokens' own bytes one behind another. skip_special leaves special tokens out.
 * out is the caller's: NULL or malloc'd before, then malloc'd and NUL-terminated. Returns OK, or E_DATA (id unknown) with out as it was. */
MUST_USE enum status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *id, int64_t count, bool skip_special, char **out,
                                      size_t *bytes);

int32_t tokenizer_vocabulary(const struct tokenizer *tokenizer);                       /* largest id + 1 */
/* Id of a token by its exact text (added tokens, then vocabulary), or -1. */
int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *text);
/* Bytes of the token's own text; 0 if there is no such id. */
size_t tokenizer_bytes(const struct tokenizer *tokenizer, int32_t id);
bool tokenizer_special(const struct tokenizer *tokenizer, int32_t id);
/* Ids that the post-processor puts before and after a text (BOS, EOS) when special tokens are wanted; counts may be 0, at most 4 each. */
int32_t tokenizer_prefix(const struct tokenizer *tokenizer, int32_t prefix[4]);
int32_t tokenizer_suffix(const struct tokenizer *tokenizer, int32_t suffix[4]);

#endif
