/* form_inside.h: what form.c (which form a row has) and form_message.c (what a message says) share. */
#ifndef TOOLS_PACK_FORM_INSIDE_H
#define TOOLS_PACK_FORM_INSIDE_H

#include "tools/pack/form.h"

/* The first of names (ended by NULL) that object has, and its name; NULL if there is none. A null counts as absent. */
json_t *field_find(const json_t *object, const char *const *names, const char **name);

/* A conversation being made. */
struct talk {
    const struct form_options *options;
    struct refusal *refusal;
    json_t *messages;
    signed char *loss;
    int room;
    bool as_reals; /* whole numbers too great for 64 bits were read as reals */
    bool has_calls;
};

/* Adds one message of a known role with content (a string; taken as a copy). Returns true, or false with the refusal filled. */
bool talk_add(struct talk *talk, const char *role, const json_t *content, int loss);
/* Puts a system message (a string) before all others. */
bool talk_begin(struct talk *talk, const json_t *content);
/* Adds one message, or a pair of human and assistant, as a file has it. loss: what holds if the message does not say. */
bool talk_message(struct talk *talk, const json_t *message, int loss);
/* Adds a list of them. what names the field. */
bool talk_messages(struct talk *talk, const json_t *list, const char *what, int loss);
/* The row's tools in OpenAI's form, or NULL (none); false: refused. */
bool talk_tools(struct talk *talk, const json_t *tools, json_t **list);
void talk_close(struct talk *talk);

#endif
