/* chat.h: a model's chat template: which one it is, what it makes of a conversation, and what in that the assistant says.
 *
 * The template is, in this order: the one asked for (a file, one of the model's own named ones, or one of families.c); chat_template.jinja
 * beside the tokenizer; chat_template of tokenizer_config.json, of several the one named "default", or "tool_use" for a conversation with tools.
 * (1) A span begins where the generation prompt ends and ends with the token that ends the turn; where the template has {% generation %},
 *     it is what that holds.
 * (2) What a message says and the template leaves out is noticed, never lost in silence. */
#ifndef TOOLS_PACK_CHAT_H
#define TOOLS_PACK_CHAT_H

#include "tools/pack/jinja.h"
#include "tools/pack/tokenizer.h"

struct chat; /* read only once open: any number of threads */

/* folder holds tokenizer_config.json and its kin (each may be missing); which may be NULL. settings are "key=value", variables for the
 * template; a value that is JSON is taken as that. Returns OK, also if there is no template (see chat_name); E_READ, E_USAGE, E_DATA. */
MUST_USE enum status chat_open(struct chat **chat, const char *folder, const char *which, const char *const *settings, int settings_count);
void chat_close(struct chat *chat);

/* The family the template renders like, "own" if none, or the name of its file; NULL if there is no template. */
const char *chat_name(const struct chat *chat);
uint64_t chat_hash(const struct chat *chat);        /* XXH64 of the template's bytes; 0: none */
const char *chat_eos(const struct chat *chat);      /* the text of eos_token; NULL if there is none */
bool chat_knows_reasoning(const struct chat *chat); /* the template reads reasoning_content */

/* Renders messages (a list of objects with role and content), and tools (a list, or NULL), into text, which lives in pool. prompt: with
 * the generation prompt. Returns true, or false with error filled. */
bool chat_render(const struct chat *chat, struct pool *pool, const json_t *messages, const json_t *tools, bool prompt, struct text *text,
                 struct jinja_error *error);

struct span {
    uint32_t begin, end; /* bytes of the text; end is final after span_close */
    uint32_t said_end;   /* behind what the message itself says; what ends the turn comes after */
    uint32_t limit;      /* the turn ends before this */
    int32_t message;     /* index into messages */
    bool closed;         /* end is known without tokens: {% generation %} */
};
/* What the assistant says in a rendered text: one span a message of role assistant, in their order, in pool. Returns true; or false with
 * error->text filled if something that a message or the tools say is not in the text, or who says what cannot be told. */
bool chat_spans(const struct chat *chat, struct pool *pool, const struct text *text, const json_t *messages, bool tools,
                struct span **spans, int *count, struct jinja_error *error);

/* Sets span->end: behind the first special token (or eos_token) between said_end and limit; without one, behind the text there. */
void span_close(const struct chat *chat, const struct tokenizer *tokenizer, const struct text *text, const struct tokens *tokens,
                struct span *span);

#endif
