/* reasons.c: see reasons.h. */
#include "tools/pack/reasons.h"

#include <stdio.h>

static const char *const texts[REASONS] = {
    [BROKEN_JSON] = "not valid JSON",
    [BROKEN_UNICODE] = "not valid UTF-8",
    [BROKEN_LENGTH] = "a line too long to read",
    [BROKEN_FILE] = "the file's form is damaged",
    [BROKEN_OBJECT] = "the row is no object",
    [BROKEN_FORM] = "no form that is known",
    [BROKEN_FIELD] = "a field of the wrong kind",
    [BROKEN_ROLE] = "a role that is not known",
    [BROKEN_LOSS] = "a loss that is neither 0 nor 1",
    [BROKEN_TOKENS] = "token ids that cannot be",
    [BROKEN_TEMPLATE] = "the chat template refuses it",
    [BROKEN_NO_TEMPLATE] = "a conversation, but no chat template",
    [BROKEN_ENCODE] = "the tokenizer refuses it",
    [BROKEN_CONTROL] = "control text in a message",
    [DROPPED_SHARE] = "not drawn: the file's share",
    [DROPPED_EMPTY] = "nothing is said",
    [DROPPED_NO_TARGET] = "nothing to learn",
    [DROPPED_LONG] = "longer than the sequence",
    [DROPPED_CUT] = "nothing to learn before the cut",
    [DROPPED_LEFT_OUT] = "the template leaves something out",
    [DROPPED_UNWANTED] = "labelled as not wanted",
    [NOTED_CUT] = "cut at the sequence's length",
    [NOTED_CONTINUED] = "text continued in further documents",
    [NOTED_LAST_TURN] = "last turn not the assistant's: left out",
    [NOTED_CONTROL] = "control text in a message",
    [NOTED_CHOSEN] = "preference pair: the chosen answer taken",
    [NOTED_PLACEHOLDER] = "{{name}} or {{author}} not filled in",
    [NOTED_REPEATED] = "taken more than once: the file's share",
};

const char *reason_text(enum reason reason)
{
    ASSERT(reason >= 0 && reason < REASONS);
    return texts[reason];
}

bool refuse(struct refusal *refusal, enum reason reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal->detail, sizeof refusal->detail, format, arguments);
    va_end(arguments);
    refusal->reason = reason;
    return false;
}
