/* families.c: the chat formats of well-known model families, written out as templates of our own.
 *
 * They render conversations as the families' published templates do, to the byte (test/pack/chat_test.c), but know no tools: for
 * those the model's own template is needed. */
#include "tools/pack/families.h"

#include <string.h>

/* Messages between <|im_start|>role and <|im_end|>; what comes before the first one and how an assistant's turn looks differ. */
#define IM_TURN   "{{ '<|im_start|>' ~ m.role ~ '\\n' ~ m.content ~ '<|im_end|>\\n' }}"
#define IM_PROMPT "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
#define IM_WITH_SYSTEM(text)                                                                                                               \
    "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\\n" text "<|im_end|>\\n' }}{% endif %}"                                   \
    "{% for m in messages %}" IM_TURN "{% endfor %}" IM_PROMPT

/* Roles that do not take turns cannot be written in this form. */
#define MUST_ALTERNATE                                                                                                                     \
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate, user first') }}{% endif %}"

static const char chatml[] = "{% for m in messages %}" IM_TURN "{% endfor %}" IM_PROMPT;

static const char qwen25[] = IM_WITH_SYSTEM("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");

static const char smollm2[] = IM_WITH_SYSTEM("You are a helpful AI assistant named SmolLM, trained by Hugging Face");

/* Reasoning is kept only in turns after the last question that a person asked; the last turn always has its <think> block. A user's message
 * that is a tool's answer is no question. */
static const char qwen3[] =
    "{% set q = namespace(last=messages|length - 1, looking=true) %}"
    "{% for m in messages[::-1] %}"
    "{% if q.looking and m.role == 'user' and not (m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}"
    "{% set q.last = messages|length - loop.index %}{% set q.looking = false %}"
    "{% endif %}{% endfor %}"
    "{% for m in messages %}"
    "{% if m.role == 'assistant' %}"
    "{% set thought, answer = '', m.content %}"
    "{% if m.reasoning_content is string %}{% set thought = m.reasoning_content %}"
    "{% elif '</think>' in answer %}"
    "{% set thought = answer.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}"
    "{% set answer = answer.split('</think>')[-1].lstrip('\\n') %}"
    "{% endif %}"
    "{{ '<|im_start|>assistant\\n' }}"
    "{% if loop.index0 > q.last and (loop.last or thought) %}"
    "{{ '<think>\\n' ~ thought.strip('\\n') ~ '\\n</think>\\n\\n' ~ answer.lstrip('\\n') }}"
    "{% else %}{{ answer }}{% endif %}"
    "{{ '<|im_end|>\\n' }}"
    "{% else %}" IM_TURN "{% endif %}"
    "{% endfor %}" IM_PROMPT "{% if add_generation_prompt and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}";

#define HEADER_TURN   "{{ '<|start_header_id|>' ~ m.role ~ '<|end_header_id|>\\n\\n' ~ m.content|trim ~ '<|eot_id|>' }}"
#define HEADER_PROMPT "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"

static const char llama3[] = "{{ bos_token }}{% for m in messages %}" HEADER_TURN "{% endfor %}" HEADER_PROMPT;

static const char llama32[] =
    "{% set first, rest = '', messages %}"
    "{% if messages[0].role == 'system' %}{% set first, rest = messages[0].content|trim, messages[1:] %}{% endif %}"
    "{{ bos_token ~ '<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\n' }}"
    "{{ 'Today Date: ' ~ date_string ~ '\\n\\n' ~ first ~ '<|eot_id|>' }}"
    "{% for m in rest %}" HEADER_TURN "{% endfor %}" HEADER_PROMPT;

static const char llama2[] =
    "{% set system, rest = none, messages %}"
    "{% if messages[0].role == 'system' %}{% set system, rest = messages[0].content, messages[1:] %}{% endif %}"
    "{% for m in rest %}" MUST_ALTERNATE "{% set content = m.content %}"
    "{% if loop.first and system is not none %}{% set content = '<<SYS>>\\n' ~ system ~ '\\n<</SYS>>\\n\\n' ~ content %}{% endif %}"
    "{% if m.role == 'user' %}{{ bos_token ~ '[INST] ' ~ content.strip() ~ ' [/INST]' }}"
    "{% elif m.role == 'assistant' %}{{ ' ' ~ content.strip() ~ ' ' ~ eos_token }}{% endif %}"
    "{% endfor %}";

static const char mistral1[] =
    "{{ bos_token }}{% for m in messages %}" MUST_ALTERNATE "{% if m.role == 'user' %}{{ '[INST] ' ~ m.content ~ ' [/INST]' }}"
    "{% elif m.role == 'assistant' %}{{ m.content ~ eos_token ~ ' ' }}"
    "{% else %}{{ raise_exception('no other roles than user and assistant') }}{% endif %}"
    "{% endfor %}";

static const char mistral2[] =
    "{% set before, rest = '', messages %}"
    "{% if messages[0].role == 'system' %}{% set before, rest = messages[0].content ~ '\\n\\n', messages[1:] %}{% endif %}"
    "{{ bos_token }}{% for m in rest %}" MUST_ALTERNATE
    "{% if m.role == 'user' %}{{ ' [INST] ' ~ (before if loop.first else '') ~ m.content ~ ' [/INST]' }}"
    "{% elif m.role == 'assistant' %}{{ ' ' ~ m.content ~ eos_token }}"
    "{% else %}{{ raise_exception('no other roles than user, assistant and a first system message') }}{% endif %}"
    "{% endfor %}";

static const char phi3[] = "{% for m in messages %}{% if m.role in ['system', 'user', 'assistant'] %}"
                           "{{ '<|' ~ m.role ~ '|>\\n' ~ m.content ~ '<|end|>\\n' }}{% endif %}{% endfor %}"
                           "{{ '<|assistant|>\\n' if add_generation_prompt else eos_token }}";

static const struct family families[] = {
    { "qwen2.5", qwen25, NULL },        { "qwen3", qwen3, NULL },   { "qwen3-nothink", qwen3, "enable_thinking=false" },
    { "smollm2", smollm2, NULL },       { "chatml", chatml, NULL }, { "llama3", llama3, NULL },
    { "llama3.2", llama32, NULL },      { "llama2", llama2, NULL }, { "mistral-v0.1", mistral1, NULL },
    { "mistral-v0.2", mistral2, NULL }, { "phi3", phi3, NULL },
};

const struct family *family_at(int index)
{
    return index >= 0 && index < (int)(sizeof families / sizeof families[0]) ? &families[index] : NULL;
}

const struct family *family_find(const char *name)
{
    for (int i = 0; family_at(i) != NULL; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}
