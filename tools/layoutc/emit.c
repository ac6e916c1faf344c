/* emit.c: see emit.h. Build host.
 *
 * One row a line, every field named by its column's heading. (1) Stages whose rows would be the same are written anyway: they differ in
 * layers and buffers. (2) Numbers that src/config.h derives on its own are asserted, so that both derivations agree. */
#include "tools/layoutc/emit.h"

#include <inttypes.h>
#include <string.h>

static const char *const parameter_names[PARAMETER_KINDS] = {
    "EMBEDDING", "ATTENTION_NORM", "Q",    "K",  "V",    "Q_BIAS",     "K_BIAS", "V_BIAS", "Q_NORM", "K_NORM",
    "O",         "MLP_NORM",       "GATE", "UP", "DOWN", "FINAL_NORM", "HEAD",
};
static const char *const cut_names[] = { "CUT_NONE,", "CUT_ROWS,", "CUT_COLUMNS," };
static const char *const sum_names[] = { "COPIES_EQUAL,", "COPIES_SUM_TP,", "COPIES_SUM_KV," };
static const char *const buffer_names[BUFFER_KINDS] = {
    "PARAMETERS", "GRADIENTS", "MOMENT_1", "MOMENT_2",          "MASTER", "ROPE", "SLOTS", "STAGING",
    "BATCH",      "RESIDUAL",  "SAVED",    "CORE", "KEPT", "RESIDUAL_GRADIENT", "BUCKET", "BUCKET_GRADIENT", "HEAD_GRADIENT", "WORK",
};
static const char *const step_names[STEP_KINDS] = {
    "FEED",           "EMBED",         "RECEIVE_FORWARD", "LAYER", "SEND_FORWARD", "HEAD",   "HEAD_EVALUATE", "RECEIVE_BACKWARD",
    "LAYER_AGAIN", "CORE_AGAIN", "LAYER_BACKWARD", "LAYER_INPUT", "LAYER_WEIGHT", "SEND_BACKWARD", "EMBED_BACKWARD",  "CLEAR", "TIED",         "COPIES", "REDUCE",        "NORM",
    "UPDATE",         "GATHER",
};

/* Spaces behind text in a column of that width. */
static int gap(int width, const char *text)
{
    int length = (int)strlen(text);
    return length < width ? width - length : 0;
}

static const char *number(char text[16], int32_t value)
{
    if (value == NONE)
        return "NONE";
    if (value == INT32_MAX)
        return "INT32_MAX";
    snprintf(text, 16, "%d", (int)value);
    return text;
}

static void emit_head(FILE *f, const struct draft *draft)
{
    const struct input *in = draft->input;
    const struct share *s = &draft->share;
    fprintf(f, "/* tables.c: written by layoutc from %s %s %s %s, inputs %016" PRIx64 ". Do not edit. */\n", in->board.name,
            in->layout.name, in->model.name, in->method, in->hash);
    fprintf(f, "#include \"config.h\"\n#include \"tables.h\"\n\n");
    fprintf(f, "const char image_name[] = \"%s/%s/%s/%s\";\n", in->board.name, in->layout.name, in->model.name, in->method);
    fprintf(f, "const uint64_t image_inputs = UINT64_C(0x%016" PRIx64 ");\n\n", in->hash);
    fprintf(f,
            "_Static_assert(RANKS == %" PRId64 " && PP == %" PRId64 " && DP == %" PRId64 " && TP == %" PRId64
            ", \"these tables are of another layout\");\n",
            s->ranks, in->layout.pp, in->layout.dp, in->layout.tp);
    fprintf(f,
            "_Static_assert(MICRO_BATCHES == %" PRId64 " && MICRO_BATCH_TOKENS == %" PRId64 " && RESIDUAL_ROWS == %" PRId64 " && LOGIT_ROWS == %" PRId64
            ", \"these tables are of another batch\");\n",
            in->layout.micro_batches, s->tokens, s->residual_rows, s->logit_rows);
    fprintf(f,
            "_Static_assert(QKV_COLUMNS_LOCAL == %" PRId64 " && ATTENTION_COLUMNS_LOCAL == %" PRId64 " && INTERMEDIATE_LOCAL == %" PRId64
            " && VOCABULARY_LOCAL == %" PRId64 " && KV_COPIES == %" PRId64 ",\n               \"these tables are of another model\");\n",
            s->qkv_columns, s->attention_columns, s->intermediate, s->vocabulary, s->kv_copies);
    fprintf(f, "_Static_assert(%" PRId64 "LL <= BOARD_DEVICE_MEMORY_BYTES, \"the fullest rank does not fit its device\");\n\n",
            draft->arena_bytes);
}

static void emit_shards(FILE *f, const struct draft *draft, int32_t pp)
{
    const struct stage *stage = &draft->stage[pp];
    char text[16];
    fprintf(f,
            "static const struct shard shards_stage_%d[] = {\n    /* %-59s %-26s %5s %7s %7s %-11s %6s %10s %13s %11s %-6s %-13s %s */\n",
            (int)pp, "Hugging Face name", "parameter", "layer", "rows", "columns", "cut", "copies", "local rows", "local columns", "offset",
            "decays", "copies' sum", "counts");
    for (int32_t i = 0; i < stage->shards; i++) {
        const struct shard *s = &stage->shard[i];
        fprintf(f,
                "    { \"%s\",%*s PARAMETER_%s,%*s %4s, %6" PRId64 ", %6" PRId64 ", %-11s %5d, %9" PRId64 ", %12" PRId64 ", %10" PRId64
                ", %-6s %-13s %s },\n",
                s->name, gap(56, s->name), "", parameter_names[s->parameter], gap(14, parameter_names[s->parameter]), "",
                number(text, s->layer), s->rows, s->columns, cut_names[s->cut], (int)s->copies, s->local_rows, s->local_columns, s->offset,
                s->decays ? "true," : "false,", sum_names[s->copies_sum], s->counts ? "true" : "false");
    }
    fprintf(f, "};\nstatic const struct bucket buckets_stage_%d[] = {\n    /* name, offset, elements, first shard, shards */\n", (int)pp);
    for (int32_t i = 0; i < stage->buckets; i++) {
        const struct bucket *b = &stage->bucket[i];
        fprintf(f, "    { \"%s\", %" PRId64 ", %" PRId64 ", %d, %d },\n", b->name, b->offset, b->elements, (int)b->first_shard,
                (int)b->shards);
    }
    fprintf(f, "};\nstatic const int64_t offsets_stage_%d[] = {\n", (int)pp);
    for (int32_t i = 0; i < stage->layers * PARAMETER_KINDS; i++) {
        int64_t offset = draft->parameter_offset[pp][i];
        fprintf(f, i % PARAMETER_KINDS == 0 ? "    " : " ");
        if (offset == NONE)
            fprintf(f, "NONE,");
        else
            fprintf(f, "%" PRId64 ",", offset);
        if (i % PARAMETER_KINDS == PARAMETER_KINDS - 1)
            fprintf(f, "\n");
    }
    fprintf(f, "};\n");
}

static void emit_buffers(FILE *f, const struct stage *stage, int32_t pp)
{
    char micro[16], layer[16], bucket[16], last[16];
    fprintf(f, "static const struct buffer buffers_stage_%d[] = {\n    /* %-26s %6s %6s %6s %10s %10s %14s %14s */\n", (int)pp, "kind", "micro",
            "layer", "bucket", "first step", "last step", "offset", "bytes");
    for (int32_t i = 0; i < stage->buffers; i++) {
        const struct buffer *b = &stage->buffer[i];
        fprintf(f, "    { BUFFER_%s,%*s %5s, %5s, %5s, %9d, %9s, %13" PRId64 ", %13" PRId64 " }, /* %d */\n", buffer_names[b->kind],
                gap(18, buffer_names[b->kind]), "", number(micro, b->micro), number(layer, b->layer), number(bucket, b->bucket), (int)b->first_step,
                number(last, b->last_step), b->offset_bytes, b->bytes, (int)i);
    }
    fprintf(f, "};\n");
}

static void emit_program(FILE *f, const struct program *program, const char *name, int32_t pp)
{
    char text[12][16];
    fprintf(f, "static const struct step %s_stage_%d[] = {\n    /* %-21s %5s %5s %5s %6s %5s %5s %5s %5s %5s %5s %5s %7s %9s */\n", name, (int)pp, "does",
            "chunk", "micro", "layer", "bucket", "batch", "in", "out", "saved", "core", "kept", "work", "weights", "gradients");
    for (int32_t i = 0; i < program->steps; i++) {
        const struct step *s = &program->step[i];
        fprintf(f, "    { STEP_%s,%*s %4d, %4s, %4s, %5s, %4s, %4s, %4s, %4s, %4s, %4s, %4s, %6s, %8s }, /* %d */\n", step_names[s->kind],
                gap(15, step_names[s->kind]), "", s->chunk, number(text[0], s->micro), number(text[1], s->layer), number(text[2], s->bucket),
                number(text[3], s->batch), number(text[4], s->in), number(text[5], s->out), number(text[6], s->saved),
                number(text[7], s->core), number(text[8], s->kept), number(text[9], s->work),
                number(text[10], s->weights), number(text[11], s->gradients), (int)i);
    }
    fprintf(f, "};\n");
}

static void emit_stages(FILE *f, const struct draft *draft)
{
    int64_t pp = draft->input->layout.pp;
    for (int32_t s = 0; s < pp; s++) {
        const struct stage *stage = &draft->stage[s];
        fprintf(f, "/* ---- stage %d: %d layers ---- */\n\n", (int)s, (int)stage->layers);
        emit_shards(f, draft, s);
        emit_buffers(f, stage, s);
        emit_program(f, &stage->train, "train", s);
        emit_program(f, &stage->evaluate, "evaluate", s);
        fprintf(f, "\n");
    }
    fprintf(f, "/* ---- all stages ---- */\n\nconst int64_t *const parameter_offset[] = {\n");
    for (int32_t s = 0; s < pp; s++)
        fprintf(f, "    offsets_stage_%d,\n", (int)s);
    fprintf(f, "};\nconst struct stage stages[] = {\n");
    for (int32_t s = 0; s < pp; s++) {
        const struct stage *stage = &draft->stage[s];
        char head_gradient[24] = "NONE";
        if (stage->head_gradient != NONE)
            snprintf(head_gradient, sizeof head_gradient, "%" PRId64, stage->head_gradient);
        fprintf(f, "    { .chunk = {");
        for (int32_t c = 0; c < stage->chunks; c++)
            fprintf(f, "%s { .first_layer = %d, .layers = %d, .first_row = %d, .embeds = %s, .heads = %s }", c == 0 ? "" : ",",
                    (int)stage->chunk[c].first_layer, (int)stage->chunk[c].layers, (int)stage->chunk[c].first_row,
                    stage->chunk[c].embeds ? "true" : "false", stage->chunk[c].heads ? "true" : "false");
        fprintf(f, " },\n      .chunks = %d, .layers = %d, .embeds = %s, .heads = %s,\n", (int)stage->chunks, (int)stage->layers,
                stage->embeds ? "true" : "false", stage->heads ? "true" : "false");
        fprintf(f,
                "      .shard = shards_stage_%d, .shards = %d, .bucket = buckets_stage_%d, .buckets = %d, .buffer = buffers_stage_%d, "
                ".buffers = %d,\n",
                (int)s, (int)stage->shards, (int)s, (int)stage->buckets, (int)s, (int)stage->buffers);
        fprintf(f, "      .train = { train_stage_%d, %d }, .evaluate = { evaluate_stage_%d, %d },\n", (int)s, (int)stage->train.steps,
                (int)s, (int)stage->evaluate.steps);
        fprintf(f,
                "      .parameter_elements = %" PRId64 ", .head_gradient = %s, .gradient_elements = %" PRId64 ", .state_elements = %" PRId64
                ", .held_elements = %" PRId64 ",\n",
                stage->parameter_elements, head_gradient, stage->gradient_elements, stage->state_elements, stage->held_elements);
        fprintf(f, "      .arena_bytes = %" PRId64 ", .arena_bound_bytes = %" PRId64 " },\n", stage->arena_bytes, stage->arena_bound_bytes);
    }
    fprintf(f, "};\n\n");
}

static void emit_ranks(FILE *f, const struct draft *draft)
{
    char text[16];
    fprintf(f, "/* ---- ranks ---- */\n\nconst struct rank_row rank_rows[] = {\n"
               "    /* pp, dp, cp, tp; groups: world, TP, DP, tied, KV copies; channels by chunk: forward in, out, backward in, out */\n");
    for (int64_t r = 0; r < draft->share.ranks; r++) {
        const struct rank_row *row = &draft->row[r];
        fprintf(f, "    { %d, %d, %d, %d, {", row->pp, row->dp, row->cp, row->tp);
        for (int i = 0; i < GROUP_KINDS; i++)
            fprintf(f, "%s %s", i == 0 ? "" : ",", number(text, row->group[i]));
        fprintf(f, " }, {");
        for (int32_t c = 0; c < draft->stage[row->pp].chunks; c++) {
            fprintf(f, "%s {", c == 0 ? "" : ",");
            for (int i = 0; i < CHANNEL_DIRECTIONS; i++)
                fprintf(f, "%s %s", i == 0 ? "" : ",", number(text, row->channel[c][i]));
            fprintf(f, " }");
        }
        fprintf(f, " } }, /* %d */\n", (int)r);
    }
    fprintf(f, "};\nstatic const int32_t members[] = {\n");
    for (int32_t g = 0; g < draft->groups; g++) {
        fprintf(f, "   ");
        for (int32_t i = 0; i < draft->group[g].size; i++)
            fprintf(f, " %d,", (int)draft->group[g].members[i]);
        fprintf(f, " /* group %d */\n", (int)g);
    }
    fprintf(f, "};\nconst struct comm_group groups[] = {\n    /* id, size, members */\n");
    for (int32_t g = 0; g < draft->groups; g++)
        fprintf(f, "    { %d, %d, members + %td },\n", (int)g, (int)draft->group[g].size, draft->group[g].members - draft->member);
    fprintf(f, "};\nconst int32_t groups_count = %d;\n", (int)draft->groups);
    /* C has no empty array: without a pipeline one row stands there that channels_count does not count. */
    fprintf(f,
            "const struct comm_channel channels[] = {\n    /* id, from, to, slots, slot bytes, slots' offset in the receiver's arena */\n");
    for (int32_t c = 0; c < draft->channels || c == 0; c++) {
        const struct comm_channel *channel = &draft->channel[c];
        fprintf(f, "    { %d, %d, %d, %d, %" PRId64 ", %" PRId64 " },\n", (int)channel->id, (int)channel->from, (int)channel->to,
                (int)channel->slots, channel->slot_bytes, channel->slots_offset_bytes);
    }
    fprintf(f, "};\nconst int32_t channels_count = %d;\n\n", (int)draft->channels);
}

static void emit_offsets(FILE *f, const char *name, const char *size, const int64_t *offset, int count)
{
    fprintf(f, "const int64_t %s[%s] = {", name, size);
    for (int i = 0; i < count; i++) {
        if (offset[i] == NONE)
            fprintf(f, "%s NONE", i == 0 ? "" : ",");
        else
            fprintf(f, "%s %" PRId64, i == 0 ? "" : ",", offset[i]);
    }
    fprintf(f, " };\n");
}

void emit_tables(FILE *file, const struct draft *draft)
{
    emit_head(file, draft);
    emit_stages(file, draft);
    emit_ranks(file, draft);
    emit_offsets(file, "saved_offset_bytes", "SAVED_FIELDS", draft->saved_offset, SAVED_FIELDS);
    emit_offsets(file, "core_offset_bytes", "CORE_FIELDS", draft->core_offset, CORE_FIELDS);
    emit_offsets(file, "kept_offset_bytes", "KEPT_FIELDS", draft->kept_offset, KEPT_FIELDS);
    emit_offsets(file, "work_offset_bytes", "WORK_FIELDS", draft->work_offset, WORK_FIELDS);
    fprintf(file, "const int64_t arena_bytes = %" PRId64 ";\n", draft->arena_bytes);
    fprintf(file, "const int64_t model_parameters = %" PRId64 ";\n", draft->parameters);
}
