/* document.h: from an example to tokens and which of them are learned. Build host; one worker each thread.
 *
 * (1) A conversation is rendered, then tokenized as a whole; a token is learned if it begins inside what the assistant says. Plain text is
 *     learned whole, with what the tokenizer's post-processor puts before and after it, once.
 * (2) Tokens behind the last one that is learned are left out: nothing learns from them.
 * (3) A cut conversation ends with its first tokens; a token that ends a turn is learned only where the whole turn is there. A cut text goes
 *     on in further documents. No cut goes through a character. */
#ifndef TOOLS_PACK_DOCUMENT_H
#define TOOLS_PACK_DOCUMENT_H

#include "file/packfile.h"
#include "tools/pack/chat.h"
#include "tools/pack/form.h"

enum loss_policy { LOSS_ALL, LOSS_LAST };
enum control_policy { CONTROL_TOKEN, CONTROL_TEXT, CONTROL_REFUSE };
enum long_policy { LONG_CUT, LONG_DROP };

struct document_options {
    const struct tokenizer *tokenizer;
    const struct chat *chat;
    uint32_t sequence_tokens;
    enum loss_policy loss;
    enum control_policy control;
    enum long_policy too_long;
    bool end_text; /* eos_token behind each plain text */
    uint64_t seed;
};

/* What became of one row. Small, for there is one for each. */
struct outcome {
    enum reason reason; /* why it was refused; REASON_NONE: it was not */
    uint32_t documents, room;
    struct pack_document *document; /* [documents]; token and learned lie behind one another in one malloc'd block each */
    struct refusal *refusal;        /* malloc'd; NULL where there is no more to say */
    uint64_t notes;                 /* bit r: enum reason r was noted */
    uint64_t identity;              /* hash of what the row says: the same under any tokenizer and template */
};
void outcome_close(struct outcome *outcome);

struct worker {
    const struct document_options *options;
    struct encoder *encoder;
    struct pool pool;
    struct refusal refusal; /* of the row at hand */
    int32_t *token;         /* scratch */
    uint32_t *begin;
    uint8_t *learned;
    int64_t count, room;
};
MUST_USE enum status worker_open(struct worker *worker, const struct document_options *options);
void worker_close(struct worker *worker);

/* Makes the documents of one row's examples; or none, with worker->refusal filled. */
void document_make(struct worker *worker, const struct examples *examples, struct outcome *outcome);

#endif
