/* tokenizer_inside.h: what the tokenizer's own files share; others include tokenizer.h. Build host.
 *
 * A vocabulary holds the bytes that tokens stand for: for byte-level models the printable stand-ins of tokenizer.json are turned back at load. */
#ifndef TOOLS_PACK_TOKENIZER_INSIDE_H
#define TOOLS_PACK_TOKENIZER_INSIDE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <jansson.h>
#include <pcre2.h>

#include "tools/pack/memory.h"
#include "tools/pack/tokenizer.h"

/* ---- vocabulary.c ---- */

struct text {
    const char *bytes;
    uint32_t size;
};
struct vocabulary {
    struct text *token;            /* [size]; bytes NULL where there is a gap in the ids */
    int32_t size;
    char *pool;                    /* the tokens' bytes */
    int32_t *slot;                 /* hash table of ids, -1: empty */
    uint64_t slots;                /* a power of two */
};
/* An empty vocabulary for ids below size and bytes of text. */
void vocabulary_open(struct vocabulary *vocabulary, int32_t size, size_t bytes);
void vocabulary_close(struct vocabulary *vocabulary);
/* Adds a token; findable: also to the hash table. pool_at is where its bytes go, and moves on. */
void vocabulary_add(struct vocabulary *vocabulary, int32_t id, const char *bytes, size_t size, bool findable, size_t *pool_at);
int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *bytes, size_t size);      /* -1: not there */

struct merge {
    uint64_t pair;                 /* left id << 32 | right id; UINT64_MAX: empty */
    int32_t rank, id;
};
struct merges {
    struct merge *slot;
    uint64_t slots;
};
void merges_open(struct merges *merges, size_t count);
void merges_close(struct merges *merges);
/* A pair that comes again takes the new rank. */
void merges_add(struct merges *merges, int32_t left, int32_t right, int32_t rank, int32_t id);
const struct merge *merges_find(const struct merges *merges, int32_t left, int32_t right);         /* NULL: no such merge */

/* ---- the parts of a tokenizer ---- */

enum normalizer_kind { NORMALIZE_NFC, NORMALIZE_NFD, NORMALIZE_NFKC, NORMALIZE_NFKD, NORMALIZE_PREPEND, NORMALIZE_REPLACE, NORMALIZE_LOWER,
                       NORMALIZE_STRIP };
enum { NORMALIZERS_MOST = 8, SPLITTERS_MOST = 8, DECODINGS_MOST = 8, SPECIAL_MOST = 4 };
struct normalizer {
    enum normalizer_kind kind;
    char *pattern, *content;       /* REPLACE: a text and its replacement; PREPEND: content */
    bool left, right;              /* STRIP */
};
enum opening_scheme { OPEN_NEVER, OPEN_ALWAYS, OPEN_FIRST };      /* FIRST: only at the beginning of the text */
struct opening {
    enum opening_scheme scheme;
    char *mark;                    /* what a stretch between added tokens is to begin with; NULL: nothing is done */
    bool replaces;                 /* Metaspace: spaces become the mark first */
};
enum split_behaviour { SPLIT_ISOLATED, SPLIT_REMOVED, SPLIT_WITH_PREVIOUS, SPLIT_WITH_NEXT, SPLIT_CONTIGUOUS };
struct splitter {
    pcre2_code *code;
    enum split_behaviour behaviour;
    bool invert;
};
enum decoding_kind { DECODE_BYTE_LEVEL, DECODE_REPLACE, DECODE_BYTE_FALLBACK, DECODE_FUSE, DECODE_STRIP, DECODE_METASPACE };
struct decoding {
    enum decoding_kind kind;
    char *pattern, *content;       /* REPLACE, METASPACE: a text and its replacement; STRIP: pattern is the character that goes */
    size_t start, stop;            /* STRIP: so many of them at either end */
    bool opens;                    /* METASPACE: those of the first token go altogether */
};
struct added {
    int32_t id;
    char *content;                 /* as the file writes it */
    size_t size;
    char *sought;                  /* what stands in the text where the token is: normalized content where the token is sought in normalized text */
    size_t sought_size;
    char *bytes;                   /* what it decodes to: sought, or, byte-level, the bytes that sought stands for where it is all stand-ins */
    size_t bytes_size;
    bool special, normalized, left_strip, right_strip, single_word;
};

struct tokenizer {
    char *path;
    int32_t ids_most;              /* every id is below: tables are as long as the largest, so it may not run away from the number of tokens */
    struct vocabulary vocabulary;
    struct merges merges;
    bool byte_level, byte_fallback, fuse_unknown, ignore_merges;
    bool words_begin_at_mark;      /* no token holds U+2581 behind another character: a word may be cut before it */
    int32_t unknown;               /* -1: none */
    int32_t byte_token[256];       /* byte-level: the byte's own token; byte fallback: <0xNN>; -1: none */
    struct normalizer normalizer[NORMALIZERS_MOST];
    int32_t normalizers;
    struct opening opening;
    struct splitter splitter[SPLITTERS_MOST];
    int32_t splitters;
    struct added *added;           /* those sought in the raw text, then those in the normalized one, each by what is sought */
    int32_t added_count, added_raw;
    int32_t added_first[2][257];   /* of either those whose first byte sought is b: [added_first[.][b], added_first[.][b + 1]) */
    int32_t *added_by_id;          /* [size] index into added, -1: the id is none */
    int32_t *added_by_content;     /* [added_count] indices into added */
    pcre2_code *word;              /* a character of a word, for single_word; NULL where no token asks */
    int32_t size;                  /* largest id + 1, added tokens included */
    int32_t prefix[SPECIAL_MOST], suffix[SPECIAL_MOST], prefixes, suffixes;
    struct decoding decoding[DECODINGS_MOST];
    int32_t decodings;             /* 0: the file has no decoder */
};

/* tokenizer.c: the text of a byte-level token to the bytes it stands for, at most as many as text has. Returns their number, or -1 if a character
 * stands for none. Not for threads before the first tokenizer is open. */
int64_t bytes_of(const char *text, char *out);

/* ---- encoding ---- */

/* Text on its way, with the byte of the original text at which each of its bytes began. */
struct piece {
    char *bytes;
    uint32_t *origin;
    size_t size, reserved;
};
enum { CACHED_BYTES = 40, CACHED_TOKENS = 10, CACHE_SLOTS = 1 << 16 };
struct cached {
    uint64_t hash;
    uint8_t size, count, begin[CACHED_TOKENS];
    char bytes[CACHED_BYTES];
    int32_t id[CACHED_TOKENS];
};
struct symbol {
    int32_t id, previous, next, rank;
    uint32_t begin;
};
struct candidate {
    int32_t rank, at, left, right;
};
struct encoder {
    const struct tokenizer *tokenizer;
    struct piece piece, spare;
    struct cached *cache;          /* [CACHE_SLOTS] */
    struct symbol *symbol;
    int64_t symbols_reserved;
    struct candidate *heap;
    int64_t heap_count, heap_reserved;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    int32_t *id;
    uint32_t *begin;
    int64_t count, reserved;
};

/* stages_before.c, stages_behind.c: read everything of the file but the model. Return OK or E_DATA. */
MUST_USE enum status stages_before_model(struct tokenizer *tokenizer, json_t *root);
MUST_USE enum status stages_behind_model(struct tokenizer *tokenizer, json_t *root);
/* added.c: where the vocabulary has the content or the id of an added token, it has both together. Returns OK or E_DATA. */
MUST_USE enum status added_check_vocabulary(const struct tokenizer *tokenizer, json_t *list, json_t *vocab);
/* Fills tokenizer->added and what finds its tokens; behind the normalizers, which it runs. Returns OK or E_DATA. */
MUST_USE enum status added_read(struct tokenizer *tokenizer, json_t *list);
void added_close(struct tokenizer *tokenizer);
/* The added token of an id, or of a content; NULL: there is none. Constant time; logarithmic. */
const struct added *added_of(const struct tokenizer *tokenizer, int32_t id);
const struct added *added_named(const struct tokenizer *tokenizer, const char *content);
/* The longest added token, of those sought in the raw text or in the normalized one, that text begins with; NULL: none. Of tokens that are sought
 * by the same text it is that of the smallest id. Time: bytes of the token by the logarithm of the tokens. */
const struct added *added_longest(const struct tokenizer *tokenizer, const char *text, size_t bytes, bool normalized);

/* encode.c: text [begin, end) becomes the piece; origin NULL: a byte is its own. */
void load_piece(struct encoder *encoder, const char *text, size_t begin, size_t end, const uint32_t *origin);
/* unicode.c: text in the form that options (utf8proc's) ask for, in *form, which the caller frees. Returns its bytes. text is UTF-8. Linear. */
size_t unicode_form_of(const char *text, size_t bytes, int options, char **form);
/* normalize.c: runs the normalizers over encoder->piece. */
void normalize_piece(struct encoder *encoder);
/* Begins encoder->piece as the pre-tokenizer wants it: a space or mark before it. */
void open_piece(struct encoder *encoder);
bool is_space(int32_t character);      /* Unicode's White_Space */
/* split.c: cuts piece [begin, end) into words and hands each to bpe_word. Returns OK or E_DATA. */
MUST_USE enum status split_piece(struct encoder *encoder, size_t begin, size_t end, int32_t stage);
/* Compiles a pattern as the reference reads it. Returns OK, or E_DATA with what PCRE2 says. */
MUST_USE enum status split_compile(const char *path, const char *pattern, pcre2_code **code);
/* bpe.c: appends the tokens of word [begin, end) of the piece. */
void bpe_word(struct encoder *encoder, size_t begin, size_t end);
void encoder_append(struct encoder *encoder, int32_t id, uint32_t begin);

/* \w of Rust's regex, in which the reference writes what a word is made of. */
#define WORD "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]"

#define MARK "\xe2\x96\x81"       /* U+2581, SentencePiece's space */

#endif
