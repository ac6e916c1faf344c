/* mkdemo.c: the texts of `make demo` and `make tiny`, written for this project. Build host; the same arguments give the same bytes.
 *
 * usage: mkdemo corpus ROWS | train | held
 * corpus: plain English-like sentences and short conversations about people who are drawn anew in each row: what the tiny checkpoint is
 *         pre-trained on. It learns the words and the form of questions and answers, and no fact that lasts.
 * train, held: questions and answers about one small town of forty people, whose facts never change. Each fact is asked in several ways; one way a
 *         fact is kept out of train and is the whole of held. A checkpoint that has not seen the town cannot answer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

enum { PEOPLE = 40, KINDS = 4, WAYS = 6, CORPUS_SEED = 7, TOWN_SEED = 11 };

static const char *const names[PEOPLE] = {
    "Ada", "Bela", "Cora", "Dario", "Edda", "Falk", "Gala", "Hugo", "Ines", "Jaro", "Kira", "Levin", "Mona", "Nils", "Orla", "Pavel", "Rosa", "Sami", "Tilda", "Urs",
    "Vera", "Wim", "Yara", "Zeno", "Alma", "Bruno", "Clio", "Demir", "Elin", "Fritz", "Greta", "Henk", "Ilse", "Jonas", "Karin", "Lasse", "Mira", "Nuria", "Otto", "Pia",
};
static const char *const jobs[] = { "baker", "sailor", "teacher", "gardener", "doctor", "painter", "miller", "tailor", "driver", "singer" };
static const char *const pets[] = { "cat", "dog", "goat", "parrot", "rabbit", "horse", "hen", "turtle" };
static const char *const streets[] = { "Mill Lane", "River Road", "Church Hill", "Station Street", "Oak Avenue", "Harbour Way", "Market Square", "Long Bridge" };
static const char *const colours[] = { "red", "blue", "green", "yellow", "white", "black", "brown", "purple" };

struct kind {
    const char *const *value;
    uint32_t values;
    const char *statement;            /* name, value */
    const char *question[WAYS];       /* name */
    const char *answer;               /* name, value */
};
static const struct kind kinds[KINDS] = {
    { jobs, ELEMENTS_OF(jobs), "%s works as a %s.",
      { "What does %s do for a living?", "What is the job of %s?", "Tell me what %s works as.", "Which job does %s have?", "What work does %s do?",
        "As what does %s earn a living?" }, "%s is a %s." },
    { pets, ELEMENTS_OF(pets), "%s has a %s at home.",
      { "Which animal does %s have?", "What pet does %s keep?", "Tell me the pet of %s.", "What animal lives with %s?", "Does %s have a pet, and which?",
        "Which pet is at home with %s?" }, "%s has a %s." },
    { streets, ELEMENTS_OF(streets), "%s lives in %s.",
      { "Where does %s live?", "In which street does %s live?", "Tell me where to find %s.", "What is the address of %s?", "Which street is the home of %s?",
        "Where is the house of %s?" }, "%s lives in %s." },
    { colours, ELEMENTS_OF(colours), "%s likes the colour %s best.",
      { "Which colour does %s like?", "What is the favourite colour of %s?", "Tell me the colour that %s likes best.", "What colour does %s love?",
        "Which colour is best for %s?", "What colour would %s choose?" }, "%s likes %s." },
};

static uint32_t draw(uint64_t seed, uint64_t a, uint64_t b, uint32_t below)
{
    return philox(seed, a, b).word[0] % below;
}

/* Texts hold no character that JSON escapes. */
static void print_turn(const char *role, const char *format, const char *name, const char *value, const char *behind)
{
    printf("{\"role\": \"%s\", \"content\": \"", role);
    if (value == NULL)
        printf(format, name);
    else
        printf(format, name, value);
    printf("\"}%s", behind);
}

static void print_question(const char *name, const struct kind *kind, int way, const char *value)
{
    printf("{\"messages\": [");
    print_turn("user", kind->question[way], name, NULL, ", ");
    print_turn("assistant", kind->answer, name, value, "]}\n");
}

/* One row of the corpus: a few sentences about one person of the moment, or a question about one that the row itself answers. */
static void print_corpus_row(uint64_t row)
{
    const char *name = names[draw(CORPUS_SEED, row, 0, PEOPLE)];
    const struct kind *kind = &kinds[draw(CORPUS_SEED, row, 1, KINDS)];
    const char *value = kind->value[draw(CORPUS_SEED, row, 2, kind->values)];
    if (draw(CORPUS_SEED, row, 3, 2) == 0) {
        printf("{\"messages\": [{\"role\": \"user\", \"content\": \"");
        printf(kind->statement, name, value);
        printf(" ");
        printf(kind->question[draw(CORPUS_SEED, row, 4, WAYS)], name);
        printf("\"}, ");
        print_turn("assistant", kind->answer, name, value, "]}\n");
        return;
    }
    printf("{\"messages\": [{\"role\": \"user\", \"content\": \"Tell me something about %s.\"}, {\"role\": \"assistant\", \"content\": \"", name);
    for (uint64_t k = 0; k < KINDS; k++) {
        const struct kind *of = &kinds[(draw(CORPUS_SEED, row, 5, KINDS) + k) % KINDS];
        printf(k == 0 ? "" : " ");
        printf(of->statement, name, of->value[draw(CORPUS_SEED, row, 6 + k, of->values)]);
    }
    printf("\"}]}\n");
}

static void print_town(bool held)
{
    for (uint64_t person = 0; person < PEOPLE; person++)
        for (uint64_t k = 0; k < KINDS; k++) {
            const char *value = kinds[k].value[draw(TOWN_SEED, person, k, kinds[k].values)];
            int kept = (int)draw(TOWN_SEED, person, KINDS + k, WAYS);
            for (int way = 0; way < WAYS; way++)
                if ((way == kept) == held)
                    print_question(names[person], &kinds[k], way, value);
        }
}

int main(int argc, char **argv)
{
    status_program("mkdemo");
    if (argc == 3 && strcmp(argv[1], "corpus") == 0)
        for (uint64_t row = 0; row < strtoull(argv[2], NULL, 10); row++)
            print_corpus_row(row);
    else if (argc == 2 && strcmp(argv[1], "train") == 0)
        print_town(false);
    else if (argc == 2 && strcmp(argv[1], "held") == 0)
        print_town(true);
    else
        return fail(E_USAGE, "usage: mkdemo corpus ROWS | train | held");
    return OK;
}
