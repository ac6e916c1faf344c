/* form.h: what a row says: whatever form its file has, it becomes one or more examples of three kinds. Build host, any thread.
 *
 * Forms are recognised by a row's fields, each row by itself, the first of these that fits:
 *   input_ids [labels]                                      already tokenized
 *   messages | conversations | conversation | dialogue      a list of messages: role and content, from and value, or human and assistant in
 *                                                           one object; then chosen, a message, a list or a text
 *   prompt and completion, both lists of messages           only the completion is learned
 *   instruction | query | prompt | question | problem | input, with output | response | completion | answer | solution | chosen
 *                                                           one question, one answer; input (beside instruction) follows the question on a
 *                                                           line of its own; history is a list of earlier pairs; system goes before
 *   instruction and instances                               one such example for each of instances (input, output)
 *   text | content | document, or response alone            plain text
 * (1) Nothing is guessed: a field of another kind, a role that is not known or a row that fits no form is refused, with its reason. */
#ifndef TOOLS_PACK_FORM_H
#define TOOLS_PACK_FORM_H

#include "tools/pack/reasons.h"

#include <jansson.h>

enum example_kind { EXAMPLE_CHAT, EXAMPLE_TEXT, EXAMPLE_TOKENS };
enum { LOSS_UNSAID = -1, LOSS_NO, LOSS_YES };

struct example {
    enum example_kind kind;
    json_t *messages;     /* CHAT: objects of role, content and, where given, reasoning_content, tool_calls, name, tool_call_id */
    signed char *loss;    /* [messages] LOSS_*; malloc'd */
    json_t *tools;        /* CHAT: a list in OpenAI's form, or NULL */
    json_t *text;         /* TEXT: a string */
    json_t *ids, *labels; /* TOKENS: lists; labels may be NULL */
    bool chosen;          /* the better answer of a preference pair */
};
struct examples {
    struct example *example;
    int count, room;
};
void examples_close(struct examples *examples);

/* One "ours=theirs" of --map or --role, or "name=value" of --fill. */
struct pairing {
    const char *left, *right;
};
struct form_options {
    const struct pairing *map; /* our field, the row's field: with any, only these fields are read */
    int maps;
    const struct pairing *role; /* our role, the file's role */
    int roles;
    const struct pairing *fill; /* {{left}} in what is said becomes right */
    int fills;
    const char *system;   /* where the row has none; or NULL */
    bool knows_reasoning; /* else reasoning goes before the answer, between <think> and </think> */
};

/* Reads one row, JSON of these bytes, into examples. Returns true, or false with refusal filled. */
bool form_read(const struct form_options *options, const char *data, size_t bytes, struct examples *examples, struct refusal *refusal);
/* The same for a row of plain text, which is checked to be UTF-8. */
bool form_read_text(const char *data, size_t bytes, struct examples *examples, struct refusal *refusal);

#endif
