//===- ChatTemplateTest.cpp -----------------------------------------------===//
//
// The expected texts are what Jinja2 3.1 prints with the settings of
// transformers.
//
//===----------------------------------------------------------------------===//
#include "llmc/Runtime/ChatTemplate.h"

#include "llmc/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llmc::rt;
using nlohmann::ordered_json;
using testing::HasSubstr;

namespace {

ordered_json variables() {
  return ordered_json::parse(R"json({
    "x": 5, "s": " Hello, World ", "l": [3, 1, 2], "z": null, "t": true,
    "d": {"b": 1, "a": [1, "z", null, true, 1.0, 1e20, 1e-7]},
    "u": [{"n": "B", "r": {"k": 2}}, {"n": "a", "r": {"k": 1}}, {"n": "c"}],
    "f": "straße ÉÀ"})json");
}

std::string render(std::string_view source) {
  return ChatTemplate(source).render(variables(), 1735689600);
}

std::string messageOf(std::string_view source, TemplateLimits limits = {}) {
  try {
    return "rendered: " + ChatTemplate(source, limits).render(variables()).substr(0, 100);
  } catch (const llmc::InputError &error) {
    return error.what();
  }
}

TEST(ChatTemplate, SmolLM2) {
  ChatTemplate chat(
      "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
      "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
      "Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + "
      "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
      "{{ '<|im_start|>assistant\n' }}{% endif %}");
  ordered_json messages = ordered_json::parse(R"([{"role": "user", "content": "Hi é"}])");
  EXPECT_EQ(chat.renderChat(messages),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\nHi é<|im_end|>\n<|im_start|>assistant\n");
  messages.insert(messages.begin(), ordered_json{{"role", "system"}, {"content", "S"}});
  ChatOptions options;
  options.addGenerationPrompt = false;
  EXPECT_EQ(chat.renderChat(messages, options),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi é<|im_end|>\n");
}

TEST(ChatTemplate, GivesTemplatesWhatTransformersDoes) {
  ChatTemplate chat("{{ bos_token }}{{ eos_token is defined }}{{ tools is none }}"
                    "{{ documents is defined }}{{ add_generation_prompt }}{{ thinking }}");
  ChatOptions options;
  options.bosToken = "<s>";
  options.extra = {{"thinking", false}};
  EXPECT_EQ(chat.renderChat(ordered_json::array(), options), "<s>FalseTrueTrueTrueFalse");
  EXPECT_THROW(chat.renderChat(ordered_json::object()), llmc::UsageError);
}

TEST(ChatTemplate, WhiteSpace) {
  EXPECT_EQ(render("  {% if t %}\n    yes\n  {%- else -%}\n   no\n  {% endif %}\ntail {# c #} x\n"
                   "  {# line #}\nend\n"),
            "    yestail  x\nend");
  EXPECT_EQ(render("{%- set a = 'x' -%}\n  {{- a }}  \n{{ a -}}\n   b\n"), "x  \nxb");
  EXPECT_EQ(render("a\n  {%+ if t %}+{% endif +%}\nz"), "a\n  +\nz");
  EXPECT_EQ(render("{% raw %}{{ no }}{% endraw %}\r\n."), "{{ no }}.");
  EXPECT_EQ(render("a\n\n"), "a\n");
}

TEST(ChatTemplate, PrintsAsPython) {
  EXPECT_EQ(render("{{ x }} {{ l }} {{ d }} {{ t }} {{ z }} {{ nope }}|"),
            "5 [3, 1, 2] {'b': 1, 'a': [1, 'z', None, True, 1.0, 1e+20, 1e-07]} True None |");
  EXPECT_EQ(render(R"({{ ["it's", 'q"', "\n\u00e9"] }})"), R"(["it's", 'q"', '\né'])");
  EXPECT_EQ(render("{{ 1.0 }} {{ 1e16 }} {{ 0.0001 }} {{ 1/3 }}"),
            "1.0 1e+16 0.0001 0.3333333333333333");
}

TEST(ChatTemplate, Operators) {
  EXPECT_EQ(render("{{ 7//2 }} {{ -7//2 }} {{ -7%3 }} {{ 7/2 }} {{ 6/2 }} {{ 2**10 }} {{ -x }}"),
            "3 -4 2 3.5 3.0 1024 -5");
  EXPECT_EQ(render("{{ 'a'~1~none }} {{ 'ab'*2 }} {{ [1]+[2] }} {{ 1 < 2 < 3 }} {{ 1 == true }}"),
            "a1None abab [1, 2] True True");
  EXPECT_EQ(render("{{ 1 in l }} {{ 'b' not in d }} {{ 'ell' in s }} {{ not x is none }}"),
            "True False True True");
  EXPECT_EQ(render("{{ 'a' if x > 3 else 'b' }}{{ 'c' if x > 9 }}{{ none or 'd' }}{{ x and '' }}"),
            "ad");
  EXPECT_EQ(render("{{ s[1:4] }} {{ l[::-1] }} {{ l[-1] }} {{ f[4] }} {{ l[-1:0:-1] }} {{ l[9] }}"),
            "Hel [2, 1, 3] 2 ß [2, 1] ");
}

TEST(ChatTemplate, LoopsAndScopes) {
  EXPECT_EQ(render("{% for i in l %}{{ loop.index }}{{ loop.first }}{{ loop.nextitem }};"
                   "{% endfor %}{% for i in [] %}{% else %}none{% endfor %}"),
            "1True1;2False2;3False;none");
  EXPECT_EQ(render("{% for i in range(10) if i is even %}{% if i == 6 %}{% break %}{% endif %}"
                   "{% if i == 2 %}{% continue %}{% endif %}{{ i }}/{{ loop.length }} "
                   "{% endfor %}"),
            "0/5 4/5 ");
  EXPECT_EQ(render("{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}"
                   "{% set q = i %}{% endfor %}{{ ns.a }}{{ q is defined }}"),
            "7False");
  EXPECT_EQ(render("{% set a, b = 1, 2 %}{% for k, v in d.items() %}{{ k }}{% endfor %}{{ a+b }}"),
            "ba3");
  EXPECT_EQ(render("{% if t %}{% set q = 1 %}{% endif %}{{ q }}"), "1");
}

TEST(ChatTemplate, Macros) {
  EXPECT_EQ(render("{% macro m(a, b=2) %}[{{ a }}{{ b }}{% if caller %}{{ caller() }}{% endif %}]"
                   "{% endmacro %}{{ m(1) }}{{ m(b=3, a=0) }}{% call m(9) %}body{% endcall %}"),
            "[12][03][92body]");
  EXPECT_EQ(render("{% macro r(n) %}{{ n }}{% if n %},{{ r(n-1) }}{% endif %}{% endmacro %}"
                   "{{ r(3) }}"),
            "3,2,1,0");
  EXPECT_EQ(render("{% set b | upper %}q{{ x }}{% endset %}{{ b }}"
                   "{% filter trim %} a {% endfilter %}"
                   "{% with k=3 %}{{ k }}{% endwith %}{% generation %}g{% endgeneration %}"),
            "Q5a3g");
}

TEST(ChatTemplate, Filters) {
  EXPECT_EQ(render("{{ l|sort }}{{ l|join('-') }}{{ l|first }}{{ l|last }}{{ l|max }}{{ l|sum }}"),
            "[1, 2, 3]3-1-23236");
  EXPECT_EQ(render("{{ u|sort(attribute='n')|map(attribute='n')|join }}"
                   "{{ u|selectattr('r','defined')|map(attribute='r.k')|list }}"
                   "{{ u|rejectattr('n','equalto','c')|list|length }}"),
            "aBc[2, 1]2");
  EXPECT_EQ(render("{{ f|upper }} {{ f|title }} {{ f|length }} {{ s|trim|replace('l','L',1) }}"),
            "STRASSE ÉÀ Straße Éà 9 HeLlo, World");
  EXPECT_EQ(render("{{ nope|default('D') }}{{ ''|default('E', true) }}{{ '42'|int + 1 }}"),
            "DE43");
  EXPECT_EQ(render("{{ 'a\\nb'|indent(2) }}{{ d|dictsort|map('first')|join }}"
                   "{{ [1,1]|unique|list }}"),
            "a\n  bab[1]");
}

TEST(ChatTemplate, IndentsAsWideAsAskedOrNotAtAll) {
  EXPECT_EQ(render("{{ ('a\\nb'|indent(1500))|length }}"), "1503");
  EXPECT_EQ(render("{{ 'a\\nb'|indent(-3) }}"), "a\nb");
  EXPECT_THROW(render("{{ 'a\\nb'|indent(10001) }}"), llmc::InputError);
  EXPECT_THROW(render("{{ [1]|tojson(indent=65) }}"), llmc::InputError);
}

TEST(ChatTemplate, Json) {
  EXPECT_EQ(render("{{ d|tojson }}"), R"({"b": 1, "a": [1, "z", null, true, 1.0, 1e+20, 1e-07]})");
  EXPECT_EQ(render("{{ {'k': [1, {}], 'e': []}|tojson(indent=2) }}"),
            "{\n  \"k\": [\n    1,\n    {}\n  ],\n  \"e\": []\n}");
  EXPECT_EQ(render(R"({{ "a\n\"\\<é>"|tojson }})"), R"("a\n\"\\<é>")");
}

TEST(ChatTemplate, Methods) {
  EXPECT_EQ(render("{{ s.strip() }}|{{ s.split(',') }}|{{ ' a  b c '.split(None, 1) }}"),
            "Hello, World|[' Hello', ' World ']|['a', 'b c ']");
  EXPECT_EQ(render("{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x','c')) }}"
                   "{{ 'abc'.replace('b','X') }}{{ 'éaé'.find('a') }}{{ d.get('q', 4) }}"),
            "TrueTrueaXc14");
  EXPECT_EQ(render("{{ '</think>x</think>y'.split('</think>')[-1].lstrip('\\n') }}"), "y");
  EXPECT_EQ(render("{{ '{}-{}'.format(1, 'a') }} {{ '%s:%.1f' % ('p', 2.25) }}"), "1-a p:2.2");
}

TEST(ChatTemplate, Tests) {
  EXPECT_EQ(render("{{ d is mapping }}{{ s is string }}{{ l is iterable }}{{ x is number }}"
                   "{{ t is true }}{{ z is none }}{{ q is undefined }}{{ x is divisibleby 5 }}"
                   "{{ x is in [5] }}{{ d is not string }}"),
            "TrueTrueTrueTrueTrueTrueTrueTrueTrueTrue");
}

TEST(ChatTemplate, TellsTheDate) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}{{ strftime_now('') }}"), "01 Jan 2025");
}

TEST(ChatTemplate, ErrorsNameLineAndExpression) {
  EXPECT_THAT(messageOf("a\n{{ x }}\n{{ nope.attr }}"),
              AllOf(HasSubstr("line 3"), HasSubstr("\"nope\" is undefined"),
                    HasSubstr("`nope.attr`")));
  EXPECT_THAT(messageOf("{{ 'a' + 1 }}"), HasSubstr("`'a' + 1`"));
  EXPECT_THAT(messageOf("{{ x|nothing }}"), HasSubstr("no filter \"nothing\""));
  EXPECT_THAT(messageOf("{{ x is nothing }}"), HasSubstr("no test \"nothing\""));
  EXPECT_THAT(messageOf("{{ l.append(1) }}"), HasSubstr("cannot be changed"));
  EXPECT_THAT(messageOf("{{ nope() }}"), HasSubstr("\"nope\" is undefined"));
  EXPECT_THAT(messageOf("{{ raise_exception('roles must alternate') }}"),
              HasSubstr("refuses the conversation: roles must alternate"));
  EXPECT_THAT(messageOf("\n{% if x %}"), HasSubstr("endif"));
  EXPECT_THAT(messageOf("{% endif %}"), HasSubstr("line 1"));
  EXPECT_THAT(messageOf("{% include 'x' %}"), HasSubstr("include"));
  EXPECT_THAT(messageOf("{% do l %}"), HasSubstr("\"do\" is an extension"));
  EXPECT_THAT(messageOf("{% block a %}{% endblock %}"), HasSubstr("a chat template is one file"));
  EXPECT_THAT(messageOf("{% autoescape true %}"), HasSubstr("no HTML"));
  EXPECT_THAT(messageOf("{{ x | wordwrap }}"), HasSubstr("no filter \"wordwrap\""));
  EXPECT_THAT(messageOf("a\n{{ [x] | map('wordwrap') | list }}"),
              AllOf(HasSubstr("line 2"), HasSubstr("no filter \"wordwrap\"")));
  for (const char *bad : {"{{ }}", "{{ x", "{{ (x }}", "{% for %}{% endfor %}", "{{ x + }}",
                          "{{ 'x }}", "{# x", "{% raw %}", "{{ a b }}", "{% set x %}", "{{ x[] }}",
                          "{% break %}", "{{ 99999999999999999999 }}", "{{ '\\uD800' }}",
                          "{{ $ }}"})
    EXPECT_THAT(messageOf(bad), HasSubstr("line 1")) << bad;
}

TEST(ChatTemplate, BoundsWhatATemplateTakes) {
  TemplateLimits small;
  small.maxSteps = 10000;
  small.maxWorkBytes = 1 << 20;
  small.maxOutputBytes = 1 << 16;
  std::string deep(5000, '('), chain = "{{ 1", filters = "{{ x", ifs;
  for (int i = 0; i < 5000; ++i) {
    chain += "+1";
    filters += "|abs";
    ifs += "{% if x %}";
  }
  for (const std::string &bad :
       {std::string("{% for i in range(100) %}{% for j in range(1000) %}{% endfor %}{% endfor %}"),
        std::string("{{ range(1000000000000) }}"), std::string("{{ 'a' * 100000000000 }}"),
        std::string("{% for i in range(1000) %}{{ 'a' * 1000 }}{% endfor %}"),
        std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
        std::string("{% set ns = namespace(v=[1]) %}{% for i in range(300) %}"
                    "{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v }}"),
        std::string("{% set ns = namespace(v=[1]) %}{% for i in range(100) %}"
                    "{% set ns.v = [ns.v, ns.v] %}{% endfor %}{{ ns.v }}"),
        // Generators within each other, searches in long lists, dictionaries from
        // long lists, characters of long texts, loops that call themselves.
        std::string("{% set ns = namespace(v=[1]) %}{% for i in range(1000) %}"
                    "{% set ns.v = ns.v | map('string') %}{% endfor %}{{ ns.v | list }}"),
        std::string("{% for i in range(9000) %}{{ 0 in range(1, 90000) }}{% endfor %}"),
        std::string("{{ dict(range(2000) | map('list') | list) }}"),
        std::string("{% set s = 'a' * 100000 %}{% for i in range(900) %}"
                    "{{ s | length + s[0] | length }}{% endfor %}"),
        std::string("{% for c in 'a' * 1000000 %}{% endfor %}"),
        std::string("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
        std::string("{{ [1] | slice(900000000000) | list }}"),
        std::string("{{ [1] | batch(900000000000, 1) | list }}"),
        std::string("{{ '{:>9999999999}'.format(1) }}"), std::string("{{ 1 | round(999999) }}"),
        std::string("{{ range(1000, 0, -1) | map('string') | batch(1, 0) | map('nothing') | list }}"),
        "{{ " + deep, chain + " }}", filters + " }}", ifs,
        std::string("{{ 9223372036854775807 + 1 }}"), std::string("{{ x // 0 }}"),
        std::string("{{ '%999999999d' % 1 }}"), std::string("{{ '' | center(9999999999) }}"),
        std::string("{{ ''.ljust(9999999999) }}")})
    EXPECT_THAT(messageOf(bad, small), testing::StartsWith("The chat template fails"))
        << bad.substr(0, 80);
  EXPECT_THROW(ChatTemplate(std::string(2 << 20, 'x')), llmc::InputError);
}

TEST(ChatTemplate, SortsNanWithoutHarm) {
  // NaN has no order; what comes out is any order, of all items.
  EXPECT_EQ(render("{% set ns = namespace(v=[]) %}{% for i in range(100) %}"
                   "{% set ns.v = ns.v + ['nan' | float, 100 - i] %}{% endfor %}"
                   "{{ ns.v | sort | length }}"),
            "200");
}

TEST(ChatTemplate, CyclesDoNotHurt) {
  EXPECT_EQ(render("{% set ns = namespace(v=[1]) %}{% set ns.v = ns.v | map('string', ns) %}x"),
            "x");
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns] %}"
                   "{{ ns.a.b|length }}"),
            "1");
}

} // namespace
