/* jinja_test.c: templates mean what they mean to Jinja as transformers sets it up.
 *
 * The expected texts are what Jinja2 3.1 rendered for the same variables with trim_blocks, lstrip_blocks, loop controls and a tojson without
 * ASCII escapes. */
#include "test/test.h"
#include "tools/pack/jinja.h"

/* clang-format off */
static const char variables[] =
    "{\"a\": 1, \"b\": 2.5, \"s\": \" H\\u00e9llo W\\u00f6rld \", \"l\": [3, 1, 2], \"d\": {\"x\": 1, \"y\": [1, {\"z\": null}], \"k-1\": \"v\"}, \"t\": true, \"n\": null, \"e\": \"\", \"words\": \"the quick  brown\\tfox\", \"u\": \"a\\u3000b\\u00a0\", \"m\": [{\"role\": \"user\", \"content\": \"hi\"}, {\"role\": \"assistant\", \"content\": \"yo\", \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"q\": \"\\u00e9\\\"\\n\", \"n\": 1.0}}}]}], \"big\": 1e+16, \"small\": 1.5e-07, \"q\": \"it's \\\"q\\\"\", \"nest\": [[1, 2], [3, 4]]}";

static const struct { const char *source, *right; } renderings[] = {
    { "{{ a + 1 }}|{{ a - 2 }}|{{ a * 3 }}|{{ a / 2 }}|{{ 7 // 2 }}|{{ -7 // 2 }}|{{ -7 % 3 }}|{{ 2 ** 10 }}|{{ -2 ** 2 }}|{{ 7.5 // 2 }}|{{ 7.5 % 2 }}",
      "2|-1|3|0.5|3|-4|2|1024|4|3.0|1.5" },
    { "{{ s|trim }}|{{ s.strip() }}|{{ s|length }}|{{ s[1:4] }}|{{ s[-3:] }}|{{ s[::-1] }}|{{ s[2] }}|{{ s[100:] }}|{{ s[:-1] }}",
      "H\303\251llo W\303\266rld|H\303\251llo W\303\266rld|13|H\303\251l|ld | dlr\303\266W oll\303\251H |\303\251|| H\303\251llo W\303\266rld" },
    { "{{ l }}|{{ l|sort }}|{{ l|sort(reverse=true) }}|{{ l|first }}|{{ l|last }}|{{ l[::-1] }}|{{ l[1:] }}|{{ l|join(',') }}|{{ l|sum }}|{{ l|max }}|{{ l|min }}|{{ l|reverse|list }}",
      "[3, 1, 2]|[1, 2, 3]|[3, 2, 1]|3|2|[2, 1, 3]|[1, 2]|3,1,2|6|3|1|[2, 1, 3]" },
    { "{{ d }}|{{ d.x }}|{{ d['k-1'] }}|{{ d.items()|list }}|{{ d.keys()|list }}|{{ d.get('zz', 5) }}|{{ d.get('x') }}|{{ d|items|list }}|{{ d|length }}",
      "{'x': 1, 'y': [1, {'z': None}], 'k-1': 'v'}|1|v|[('x', 1), ('y', [1, {'z': None}]), ('k-1', 'v')]|['x', 'y', 'k-1']|5|1|[('x', 1), ('y', [1, {'z': None}]), ('k-1', 'v')]|3" },
    { "{{ d|tojson }}|{{ d|tojson(indent=2) }}|{{ m|tojson }}|{{ m[1].tool_calls[0].function.arguments|tojson(indent=4) }}",
      "{\"x\": 1, \"y\": [1, {\"z\": null}], \"k-1\": \"v\"}|{\n  \"x\": 1,\n  \"y\": [\n    1,\n    {\n      \"z\": null\n    }\n  ],\n  \"k-1\": \"v\"\n}|[{\"role\": \"user\", \"content\": \"hi\"}, {\"role\": \"assistant\", \"content\": \"yo\", \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"q\": \"\303\251\\\"\\n\", \"n\": 1.0}}}]}]|{\n    \"q\": \"\303\251\\\"\\n\",\n    \"n\": 1.0\n}" },
    { "{{ t }}|{{ n }}|{{ b }}|{{ big }}|{{ small }}|{{ 1.0 }}|{{ 100.0 }}|{{ 0.1 + 0.2 }}|{{ 1e5 }}",
      "True|None|2.5|1e+16|1.5e-07|1.0|100.0|0.30000000000000004|100000.0" },
    { "{{ q|tojson }}|{{ [q] }}|{{ ['\\n\\t\\\\', '\303\251', '\\u200b'] }}",
      "\"it's \\\"q\\\"\"|['it\\'s \"q\"']|['\\n\\t\\\\', '\303\251', '\\u200b']" },
    { "{{ words.split() }}|{{ words.split(' ') }}|{{ words.split(' ', 1) }}|{{ words.split(maxsplit=1) }}|{{ words.split('q') }}|{{ words.rsplit(' ', 1) }}",
      "['the', 'quick', 'brown', 'fox']|['the', 'quick', '', 'brown\\tfox']|['the', 'quick  brown\\tfox']|['the', 'quick  brown\\tfox']|['the ', 'uick  brown\\tfox']|['the quick ', 'brown\\tfox']" },
    { "{{ words|upper }}|{{ s|title }}|{{ s|capitalize }}|{{ words.title() }}|{{ words|replace('o','0') }}|{{ words|replace('o','0',1) }}|{{ words.replace(' ','_',1) }}",
      "THE QUICK  BROWN\tFOX| H\303\251llo W\303\266rld | h\303\251llo w\303\266rld |The Quick  Brown\tFox|the quick  br0wn\tf0x|the quick  br0wn\tfox|the_quick  brown\tfox" },
    { "{{ 'a' if a == 1 else 'b' }}|{{ 'a' if a == 2 }}|{{ a is defined }}|{{ zz is defined }}|{{ zz is undefined }}|{{ zz }}|{{ n is none }}|{{ a is number }}|{{ s is string }}|{{ l is iterable }}|{{ d is mapping }}|{{ l is sequence }}|{{ t is boolean }}|{{ t is true }}|{{ t is not false }}",
      "a||True|False|True||True|True|True|True|True|True|True|True|True" },
    { "{{ 'x' in d }}|{{ 'z' not in d }}|{{ 3 in l }}|{{ 'ell' in 'hello' }}|{{ 1 < 2 < 3 }}|{{ 1 < 2 > 3 }}|{{ not a }}|{{ not zz }}|{{ a and e }}|{{ a or e }}|{{ n or 'dflt' }}",
      "True|True|True|True|True|False|False|True||1|dflt" },
    { "{{ zz|default('D') }}|{{ e|default('D') }}|{{ e|default('D', true) }}|{{ n|default('D') }}|{{ n|d('D', boolean=true) }}",
      "D||D|None|D" },
    { "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}:{{ x }};{% endfor %}",
      "10TrueFalse332:3;21FalseFalse321:1;32FalseTrue310:2;" },
    { "{% for x in l if x > 1 %}{{ loop.index }}{{ x }}{% else %}none{% endfor %}|{% for x in [] %}a{% else %}none{% endfor %}",
      "1322|none" },
    { "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
      "x=1;y=[1, {'z': None}];k-1=v;" },
    { "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% if loop.last %}{% break %}{% endif %}{% endfor %}",
      "32" },
    { "{% for x in l %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a','b') }}{% endfor %}",
      "1a32b1a" },
    { "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
      "4231" },
    { "{% set ns = namespace(x=1, y='a') %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns.y }}",
      "7a" },
    { "{% set x, y = 1, 2 %}{{ x }}{{ y }}",
      "12" },
    { "{% set z %}  body {{ a }} {% endset %}[{{ z }}]",
      "[  body 1 ]" },
    { "{% set z | trim | upper %}  body {{ a }} {% endset %}[{{ z }}]",
      "[BODY 1]" },
    { "{% macro f(x, y=2) %}<{{ x }},{{ y }}>{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(y=5, x=6) }}",
      "<1,2><1,3><6,5>" },
    { "{% macro w() %}[{{ caller() }}]{% endmacro %}{% call w() %}in{{ a }}{% endcall %}",
      "[in1]" },
    { "{% macro w(x) %}[{{ caller(x) }}]{% endmacro %}{% call(v) w(9) %}in{{ v }}{% endcall %}",
      "[in9]" },
    { "{% filter upper %}abc{{ a }}{% endfilter %}",
      "ABC1" },
    { "{% with x = 5, y = a %}{{ x }}{{ y }}{% endwith %}",
      "51" },
    { "{%- raw -%} {{ not }} {% this %} {%- endraw -%} x",
      "{{ not }} {% this %}x" },
    { "    one",
      "    one" },
    { "two",
      "two" },
    { "    one",
      "    one" },
    { "two",
      "two" },
    { "{# comment #}",
      "" },
    { "x {# c #} y",
      "x  y" },
    { "   {# c #}",
      "" },
    { "z",
      "z" },
    { "{{ a }}",
      "1" },
    { "{{- a -}}",
      "1" },
    { "",
      "" },
    { "b",
      "b" },
    { "\t{% set q = 1 %}\t x",
      "\t x" },
    { "{{ 'a' ~ 1 ~ n ~ zz }}|{{ 'ab' * 3 }}|{{ [1] + [2] }}|{{ (1,2) + (3,) }}|{{ (1,) }}|{{ () }}",
      "a1None|ababab|[1, 2]|(1, 2, 3)|(1,)|()" },
    { "{{ \"a\" \"b\" 'c' }}|{{ '\303\251\\u00e9\\x41\\n' }}|{{ '\\q' }}|{{ \"\\\"\" }}",
      "abc|\303\251\303\251A\n|\\q|\"" },
    { "{{ m|map(attribute='role')|list }}|{{ m|map(attribute='role')|join('-') }}|{{ m|selectattr('role','equalto','user')|list|length }}|{{ m|rejectattr('role','eq','user')|map(attribute='content')|first }}|{{ ['a ',' b']|map('trim')|list }}|{{ l|select('odd')|list }}|{{ l|reject('>', 1)|list }}|{{ m|selectattr('tool_calls')|list|length }}|{{ m|selectattr('tool_calls','defined')|list|length }}",
      "['user', 'assistant']|user-assistant|1|yo|['a', 'b']|[3, 1]|[1]|1|1" },
    { "{{ range(3)|list }}|{{ range(1,6,2)|list }}|{{ range(5,0,-2)|list }}",
      "[0, 1, 2]|[1, 3, 5]|[5, 3, 1]" },
    { "{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x','bc')) }}|{{ 'abc'.find('c') }}|{{ 'abc'.find('z') }}|{{ 'abca'.count('a') }}|{{ 'a,b'.split(',')|last }}|{{ '-'.join(['a','b']) }}|{{ 'aXb'.lower() }}|{{ '123'.isdigit() }}|{{ 'a\\nb\\r\\nc'.splitlines() }}|{{ '  x '.lstrip() }}|{{ 'xxyxx'.strip('x') }}|{{ 'xay'.strip('xy') }}|{{ 'preabc'.removeprefix('pre') }}",
      "True|True|2|-1|2|b|a-b|axb|True|['a', 'b', 'c']|x |y|a|abc" },
    { "{{ messages is defined }}|{{ m[0].role }}|{{ m[0]['content'] }}|{{ m[-1].content }}|{{ m[5] is defined }}|{{ d.nope is defined }}|{{ n.x is defined }}",
      "False|user|hi|yo|False|False|False" },
    { "{{ [1,[2,'a'],{'k':True}] }}|{{ {'a':1,'b':[None]} }}|{{ {'a':1}['a'] }}|{{ {} }}",
      "[1, [2, 'a'], {'k': True}]|{'a': 1, 'b': [None]}|1|{}" },
    { "{{ a|string + 'x' }}|{{ '5'|int + 1 }}|{{ 'x'|int(7) }}|{{ 3.7|int }}|{{ '2.5'|float }}|{{ -3|abs }}|{{ 2.567|round(2) }}|{{ 2.5|round }}|{{ 2.1|round(0,'ceil') }}",
      "1x|6|7|3|2.5|3|2.57|2.0|3.0" },
    { "{{ 'a\\nb\\nc'|indent }}|{{ 'a\\nb\\n\\nc'|indent(2, true) }}|{{ 'a\\n\\nb'|indent(2, blank=true) }}",
      "a\n    b\n    c|  a\n  b\n\n  c|a\n  \n  b" },
    { "{{ [3,1,3,2]|unique|list }}|{{ ['B','a']|sort }}|{{ {'b':1,'A':2}|dictsort }}|{{ 'cba'|list }}|{{ 'abc'|reverse }}|{{ 'abc'|first }}",
      "[3, 1, 2]|['a', 'B']|[('A', 2), ('b', 1)]|['c', 'b', 'a']|cba|a" },
    { "{{ nest[0][1] }}|{% for p, q in nest %}{{ p }}{{ q }}{% endfor %}",
      "2|1234" },
    { "{{ 1 if zz else 2 if a else 3 }}|{{ (a if a else b) ~ 'c' }}",
      "2|1c" },
    { "{% if a == 1 and (b > 2 or zz) %}Y{% elif b %}E{% else %}N{% endif %}",
      "Y" },
    { "{% if a == 3 %}Y{% elif b == 2.5 %}E{% else %}N{% endif %}",
      "E" },
    { "{{ u.strip() }}|{{ u|trim|length }}|{{ 'x' == \"x\" }}|{{ [1,2] == [1,2] }}|{{ 1 == 1.0 }}|{{ 1 == true }}|{{ 'a' < 'b' }}",
      "a\343\200\200b|3|True|True|True|True|True" },
    { "{{ {'a': {'b': 1}}['a']['b'] }}|{{ {'a': {'b': 1}}.a.b }}",
      "1|1" },
    { "{{ 'x' if false }}|{{ ''.join([]) }}|{{ [] }}|{{ dict(a=1, b=2) }}",
      "||[]|{'a': 1, 'b': 2}" },
    { "{{ (1 + 2) * 3 }}|{{ 10 - 2 - 3 }}|{{ 2 * 3 % 4 }}|{{ 'a' in 'abc' and 'd' not in 'abc' }}",
      "9|5|2|True" },
    { "{{ 'a'|replace('a', \"b\")|upper ~ 'c'|upper }}|{{ -a }}|{{ +a }}|{{ - a * 2 }}",
      "BC|-1|1|-2" },
    { "{{ loop is defined }}|{{ not (a == 1) }}|{{ not a == 1 }}",
      "False|False|False" },
    { "{{ 'abc'|trim('a') }}|{{ '...' | trim(chars='.') }}",
      "bc|" },
    { "{{ \"%s\" is string }}|{{ words.upper().lower()[:3] }}",
      "True|the" },
    { "{% set d2 = dict(d, z=3) %}{{ d2.z }}{{ d2.x }}",
      "31" },
    { "{% for m1 in m %}{% for m2 in m %}{{ loop.index }}{{ m2.role }}{% endfor %}{{ loop.index }}{% endfor %}",
      "1user2assistant11user2assistant2" },
    { "{%+ if a %}x{%+ endif %}",
      "x" },
    { "  {%+ if a %}x{% endif +%}",
      "  x" },
    { "y",
      "y" },
    { "{% for c in 'h\303\251y' %}{{ c }}-{% endfor %}|{% for k in d %}{{ k }}{% endfor %}",
      "h-\303\251-y-|xyk-1" },
    { "{{ 'yes' if 'content' in m[0] else 'no' }}|{{ m[0].content is string and m[0].content|length > 1 }}",
      "yes|True" },
    { "{{ (m|last).role }}|{{ (m|first)['role'] }}|{{ m[1:][0].role }}|{{ m[:1]|length }}|{{ m[::-1][0].role }}",
      "assistant|user|assistant|1|assistant" },
    { "  {{ '\\n' }}",
      "  \n" },
    { "{{ 'a.b'.split('.')[0] }}{{ ('a' ~ 'b').upper() }}{{ 'k' 'j' | upper }}",
      "aABKJ" },
    { "{{ d.y[1].z }}|{{ d['y'][1]['z'] is none }}|{{ 5 is integer }}|{{ 5.0 is float }}|{{ 5.0 is integer }}",
      "None|True|True|True|False" },
    { "{{ \"x\" ~ (1,2) }}|{{ (a, b) }}|{{ a, b }}",
      "x(1, 2)|(1, 2.5)|(1, 2.5)" },
    { "{{ [1,2,3][1:][0] }}|{{ \"abc\"[1] }}|{{ l[-1] }}|{{ l.0 }}",
      "2|b|2|3" },
    { "{{ 'A' if l else 'B' }}{{ 'A' if [] else 'B' }}{{ 'A' if {} else 'B' }}{{ 'A' if 0 else 'B' }}{{ 'A' if '0' else 'B' }}",
      "ABBBA" },
    { "  {% if a %}\n    one\n  {% endif %}\ntwo\n",
      "    one\ntwo" },
    { "a\n  {%- if a -%}\n    one\n  {%- endif -%}\ntwo\n\n",
      "aonetwo\n" },
    { "{# c #}\nx {# c #} y\n   {# c #}\nz",
      "x  y\nz" },
    { "{{ a }}\n{{- a -}}\n\nb",
      "11b" },
    { "x\n\t{% set q = 1 %}\t x",
      "x\n\t x" },
    { "{% for x in l %}\n  {{ x }}\n{% endfor %}\n\n",
      "  3\n  1\n  2\n" },
    { "a\r\nb\rc\n",
      "a\nb\nc" },
    { "{% raw %}\n {{ x }} {% endraw %}\ny",
      "\n {{ x }} y" },
    { "  {%+ if a %}x{% endif +%}\ny",
      "  x\ny" },
    { "{% if a -%}\n  x\n{%- endif %}\n  y",
      "x  y" },
    { "{#- a -#}  x  {#- b #}\n y",
      "x y" },
};
/* clang-format on */

/* Renders source with the variables; "line n: what" where it cannot. The text is the caller's to free. */
static char *rendered(const char *source, const char *more)
{
    struct jinja *jinja;
    struct pool pool = { 0 };
    struct jinja_scope scope;
    struct jinja_error error;
    struct text text;
    char *out = NULL;
    status_quiet(true);
    if (jinja_open(&jinja, "template", source, strlen(source)) != OK)
        return strdup(status_message());
    json_t *values = json_loads(more != NULL ? more : variables, 0, NULL);
    const char *name;
    json_t *value;
    jinja_scope_open(&scope, &pool);
    json_object_foreach(values, name, value) jinja_set(&scope, name, value, ORIGIN_TEMPLATE, strcmp(name, "messages") == 0);
    if (jinja_render(jinja, &scope, &text, &error))
        out = strndup(text.bytes, text.length);
    else if (asprintf(&out, "line %d: %s", error.line, error.text) < 0)
        abort();
    json_decref(values);
    jinja_close(jinja);
    pool_close(&pool);
    return out;
}

TEST(renderings_are_those_of_jinja)
{
    for (int i = 0; i < ELEMENTS_OF(renderings); i++) {
        char *seen = rendered(renderings[i].source, NULL);
        if (strcmp(seen, renderings[i].right) != 0)
            test_fail(__FILE__, __LINE__, "%s\n    gives  %s\n    right  %s", renderings[i].source, seen, renderings[i].right);
        free(seen);
    }
}

TEST(what_is_wrong_is_said_with_its_line)
{
    static const struct {
        const char *source, *says;
    } cases[] = {
        { "a\n{{ l|nofilter }}", "template line 2: the filter \"nofilter\" is not known" },
        { "{% if false %}\n{{ l is notest }}{% endif %}", "template line 2: the test \"notest\" is not known" },
        { "{% include 'a' %}", "template line 1: the tag \"include\" is not known here" },
        { "\n\n{% for x in l %}", "template line 3: \"endfor\" never comes" },
        { "{% endif %}", "the tag \"endif\" is not known here" },
        { "{{ 'x }}", "a string begins and never ends" },
        { "{{ a", "\"{{\" begins and \"}}\" never comes" },
        { "{# a", "a comment begins" },
        { "{{ a ? b }}", "the character \"?\" means nothing here" },
        { "{{ a b }}", "\"}}\" is expected, not \"b\"" },
        { "{% break %}", "break outside of a loop" },
        { "{% for x in l recursive %}{% endfor %}", "recursive loops are not supported" },
        { "{{ f(*l) }}", "lists of arguments are not supported" },
        { "\n{{ nothing.at_all }}", "line 2: 'nothing' is undefined" },
        { "{{ nothing() }}", "line 1: 'nothing' is undefined and cannot be called" },
        { "{{ 'a' + 1 }}", "line 1: 'str' and 'int' cannot be added" },
        { "{{ 1 // 0 }}", "line 1: division by zero" },
        { "{{ l.append(4) }}", "'append' is undefined" },
        { "{{ a.__class__.x }}", "'__class__' is undefined" },
        { "a\n\n{{ raise_exception('boom ' ~ a) }}", "line 3: boom 1" },
        { "{{ 9223372036854775807 + 1 }}", "a number beyond 64 bits" },
        { "{{ 2 ** 64 }}", "a number beyond 64 bits" },
        { "{{ strftime_now('%H') }}", "strftime_now: %H is not supported" },
        { "{{ 'a\xff' }}", "no valid UTF-8" },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char *seen = rendered(cases[i].source, NULL);
        EXPECT_HOLDS(seen, cases[i].says);
        free(seen);
    }
}

TEST(a_template_without_end_is_stopped)
{
    static const struct {
        const char *source, *says;
    } cases[] = {
        { "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "needs more memory" },
        { "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "levels of nesting" },
        { "{% set ns = namespace(x='0123456789abcdef') %}{% for a in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
          "needs more memory" },
        { "{{ 'x' * 99999999999 }}", "needs more memory" },
        { "{{ '' * 99999999999 }}", "the template does not end" },
        { "{{ range(100001)|length }}", "more than 100000 numbers" },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char *seen = rendered(cases[i].source, NULL);
        EXPECT_HOLDS(seen, cases[i].says);
        free(seen);
    }
    enum { DEEP = 100000 };
    char *deep = malloc(2 * DEEP + 16);
    memcpy(deep, "{{ ", 3);
    memset(deep + 3, '(', DEEP);
    memset(deep + 3 + DEEP, ')', DEEP);
    strcpy(deep + 3 + 2 * DEEP, " }}");
    char *seen = rendered(deep, NULL);
    EXPECT_HOLDS(seen, "levels of nesting");
    free(seen);
    for (int i = 0; i < DEEP; i++)
        memcpy(deep + 3 + 2 * i, i % 2 == 0 ? "1+" : "1-", 2);
    strcpy(deep + 3 + 2 * DEEP, "1}}");
    seen = rendered(deep, NULL);
    EXPECT_HOLDS(seen, "levels of nesting");
    free(seen);
    free(deep);
}

TEST(the_date_is_never_todays)
{
    char *seen = rendered("{{ strftime_now('%d %b %Y, %B %m %y') }}", NULL);
    EXPECT_TEXT(seen, "26 Jul 2024, July 07 24");
    free(seen);
}

/* Renders source over one conversation and writes the origin of each byte as a digit: the message for content, 0 for the template. */
static char *origins(const char *source)
{
    static const char talk[] = "[{\"role\":\"user\",\"content\":\" ab \"},{\"role\":\"assistant\",\"content\":\"x|y\"}]";
    struct jinja *jinja;
    struct pool pool = { 0 };
    struct jinja_scope scope;
    struct jinja_error error;
    struct text text;
    EXPECT_EQ(jinja_open(&jinja, "template", source, strlen(source)), OK);
    json_t *messages = json_loads(talk, 0, NULL);
    jinja_scope_open(&scope, &pool);
    jinja_set(&scope, "messages", messages, ORIGIN_TEMPLATE, true);
    bool good = jinja_render(jinja, &scope, &text, &error);
    EXPECT(good);
    char *out = calloc(1, text.length * 2 + 2);
    memcpy(out, text.bytes, text.length);
    out[text.length] = '\n';
    for (uint32_t i = 0; i < text.length; i++) {
        uint32_t origin = text_origin(&text, i);
        out[text.length + 1 + i] = (char)('0' + (ORIGIN_PART(origin) == ORIGIN_CONTENT ? ORIGIN_MESSAGE(origin) : 0));
    }
    json_decref(messages);
    jinja_close(jinja);
    pool_close(&pool);
    return out;
}

TEST(every_byte_knows_which_message_it_came_from)
{
    static const struct {
        const char *source, *right;
    } cases[] = {
        { "<{{ messages[0].content }}>", "< ab >\n011110" },
        { "{{ '<' + messages[0].content|trim + '>' }}", "<ab>\n0110" },
        { "{{ messages[1].content.split('|')[1] ~ messages[0].content[1:2] }}", "ya\n21" },
        { "{{ messages|map(attribute='content')|join('--') }}", " ab --x|y\n111100222" },
        { "{{ messages[1].content|replace('|', '!!')|upper }}", "X!!Y\n2002" },
        { "{% set t %}({{ messages[0].content }}){% endset %}{{ t[2:] }}", "ab )\n1110" },
        { "{% macro f(x) %}[{{ x }}]{% endmacro %}{{ f(messages[1].content) }}", "[x|y]\n02220" },
        { "{{ messages[0].content|tojson }}", "\" ab \"\n011110" },
        { "{{ messages[1].content[::-1] }}", "y|x\n222" },
        { "{{ [messages[0].content] }}", "[' ab ']\n00111100" },
        { "{% filter trim %}{{ messages[0].content }}.{% endfilter %}", "ab .\n1110" },
        { "{{ '%s' if messages[0].content == 'ab' else messages[1].content }}", "x|y\n222" },
        { "{% for m in messages %}{{ m.role[0] }}{{ m.content|trim }}{% endfor %}", "uabax|y\n0110222" },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        char *seen = origins(cases[i].source);
        EXPECT_TEXT(seen, cases[i].right);
        free(seen);
    }
}
