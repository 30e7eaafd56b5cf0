"""Makes cases.json: templates and what Jinja2 (PyPI, 3.1) makes of them in the environment that
Hugging Face's apply_chat_template sets up. Run: python make_cases.py"""

import datetime
import json

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 3, 5, 14, 7, 9)

EXPRESSIONS = r"""
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }}
{{ 1.5 + 1 }} {{ 3.0 }} {{ 1e100 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1/3 }} {{ 100000000000000000.0 }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1_0.5 }} {{ 1.5e3 }} {{ 2e-3 }}
{{ 'a' + "b" }} {{ 'a' ~ 1 ~ none ~ true ~ 1.0 }} {{ 'ab' * 3 }} {{ 3 * [1, 2] }} {{ [1] + [2] }} {{ (1,) + (2, 3) }}
{{ 'it''s' }} {{ "a" 'b' }} {{ 'tab\tnl\\n\x41\u00e9\'"' }} {{ "\"" }} {{ 'a\qb' }} {{ '\101' }}
{{ [1, 'a', "it's", 'q"', none, true, 1.5, (1,), (), {'k': [1]}] }}
{{ {'a': 1, 'b': {'c': 2}, 3: 4} }} {{ {'a': 1, 'a': 2} }} {{ {1: 'x', 1.0: 'y', true: 'z'} }}
{{ 'é\n\x00\u200b\U0001f600' }} {{ ['é\n\x00\u200b\U0001f600\\', '\x7f\xa0'] }}
{{ true and 1 }} {{ 0 or 'x' }} {{ not 0 }} {{ not not 'a' }} {{ 1 and 0 or 2 }} {{ none or false }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ '1' == 1 }} {{ [1,2] == [1,2] }} {{ (1,2) == [1,2] }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1,2] < [1,3] }}
{{ 1 in [1,2] }} {{ 'a' in 'cat' }} {{ 'k' in {'k': 1} }} {{ 3 not in [1,2] }} {{ 'x' not in 'abc' }} {{ not 1 in [1] }} {{ 'a' in undefined_thing }}
{{ 'yes' if 1 else 'no' }} {{ 'yes' if 0 }} {{ 'a' if 0 else 'b' if 0 else 'c' }} {{ ('x' if true) ~ 'y' }}
{{ undefined_thing }} {{ undefined_thing is defined }} {{ undefined_thing is undefined }} {{ undefined_thing == other_thing }} {{ [undefined_thing] }} {{ undefined_thing|length }}
{{ 'hello'[0] }} {{ 'hello'[-1] }} {{ 'hello'[1:3] }} {{ 'hello'[::-1] }} {{ 'hello'[-3:] }} {{ 'hello'[:-1] }} {{ 'hello'[::2] }} {{ 'héllo🙂'[1] }} {{ 'héllo🙂'[-1] }} {{ 'hello'[10] }} {{ 'abc'[5:] }} {{ 'abcdef'[4:1:-1] }} {{ 'abcdef'[-100:100] }}
{{ [1,2,3][1] }} {{ [1,2,3][-1] }} {{ [1,2,3][5] }} {{ [1,2,3][1:] }} {{ (1,2,3)[:2] }} {{ [1,2,3][::-1] }} {{ [[1,2],[3]].0.1 }} {{ {'a': {'b': 5}}.a.b }} {{ {'a': 1}['a'] }} {{ {'a': 1}['b'] }} {{ {'a': 1}.b is defined }} {{ {1: 'x'}[1] }}
{{ -2|abs }} {{ (-2)|abs }} {{ -2.5|abs }} {{ - 3 }} {{ +3 }} {{ 2 - -3 }} {{ -(1 + 2) }}
{{ 'a,b,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c'.split(none, 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a b  c  '.split(' ') }} {{ 'x</think>y'.split('</think>')[-1] }} {{ ' a b c '.split(maxsplit=1) }}
{{ '  x '.strip() }}| {{ 'xxaxx'.strip('x') }} {{ 'xxaxx'.lstrip('x') }} {{ 'xxaxx'.rstrip('x') }} {{ '\n a \n'.strip('\n') }}| {{ 'abcba'.strip('ab') }} {{ '\u3000x\u00a0'.strip() }}|
{{ 'Hello'.upper() }} {{ 'HeLLo'.lower() }} {{ 'hello world'.title() }} {{ 'hello WORLD'.capitalize() }} {{ 'straße Ünï'.upper() }} {{ 'ПРИВЕТ ΣΑΣ'.lower() }} {{ 'aBc'.swapcase() }} {{ "they're bill's".title() }}
{{ 'hello'.startswith('he') }} {{ 'hello'.endswith('lo') }} {{ 'hello'.startswith(('x','h')) }} {{ 'hello'.find('l') }} {{ 'hello'.rfind('l') }} {{ 'hello'.find('z') }} {{ 'hello'.index('e') }} {{ 'hello'.count('l') }} {{ 'aaa'.count('') }} {{ 'ééx'.find('x') }}
{{ 'aXbXc'.replace('X', '-') }} {{ 'aXbXc'.replace('X', '-', 1) }} {{ 'abc'.replace('', '.') }} {{ 'ab'|replace('a', 'b') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ 12|replace(1, 3) }}
{{ '-'.join(['a','b']) }} {{ ['a', 1, none]|join('-') }} {{ 'abc'|join(',') }} {{ []|join }} {{ [{'n': 1}, {'n': 2}]|join(',', attribute='n') }} {{ [1,2]|join }}
{{ 'abc'.isdigit() }} {{ '123'.isdigit() }} {{ 'ab1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' \t'.isspace() }} {{ ''.isspace() }} {{ 'AB'.isupper() }} {{ 'ab'.islower() }} {{ 'a1'.islower() }} {{ '1'.isupper() }} {{ 'éa'.isalpha() }}
{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('=') }} {{ 'abc'.rpartition('=') }} {{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ '7'.zfill(3) }} {{ '-7'.zfill(4) }} {{ 'a'.ljust(3, '.') }} {{ 'a'.rjust(3) }} {{ 'ab'.center(5) }}| {{ 'abc'.center(6) }}| {{ 'a\nb\r\nc\n'.splitlines() }} {{ 'a\nb'.splitlines(true) }}
{{ '{} and {}'.format(1, 'x') }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x:>5}|{x:<5}|{x:^5}|'.format(x='ab') }} {{ '{:05d} {:,} {:.2f} {:x} {:%}'.format(42, 1234567, 3.14159, 255, 0.5) }} {{ '{!r}'.format('a') }} {{ '{{}}'.format() }} {{ '{:*^9}'.format('mid') }} {{ '{:+d} {:e} {:g}'.format(5, 12345.678, 0.0001) }} {{ '{0[a]} {1.b}'.format({'a': 1}, {'b': 2}) if false else 'x' }}
{{ '%s is %d' % ('x', 3) }} {{ '%5.1f|%-5s|%05d' % (3.14159, 'ab', 42) }} {{ '%(a)s' % {'a': 1} }} {{ '%s' % 5 }} {{ '%%' % () }} {{ '%x %X %o %e' % (255, 255, 8, 1234.5) }} {{ '%s %r' % ('a', 'a') }} {{ '%s, %s'|format('a', 'b') }} {{ '%+d' % 5 }} {{ '%.2s' % 'abc' }}
{{ {'a': 1, 'b': 2}.items()|list }} {{ {'a': 1}.keys()|list }} {{ {'a': 1}.values()|list }} {{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 5) }} {{ {'items': 3}['items'] }} {{ {'a': 1}|items|list }} {{ dict(a=1, b='x') }} {{ dict({'a': 1}, b=2) }} {{ dict([('x', 1)]) }}
{{ [3,1,2]|sort }} {{ ['b','A','c']|sort }} {{ ['b','A','c']|sort(case_sensitive=true) }} {{ [3,1,2]|sort(reverse=true) }} {{ [{'n': 2}, {'n': 1}]|sort(attribute='n') }} {{ {'b': 1, 'a': 2}|dictsort }} {{ {'b': 1, 'a': 2}|dictsort(by='value') }} {{ {'b': 1, 'a': 2}|dictsort(reverse=true) }} {{ [{'a': 1, 'b': 2}, {'a': 1, 'b': 1}]|sort(attribute='a,b') }}
{{ [1,2,3]|first }} {{ [1,2,3]|last }} {{ []|first }} {{ 'abc'|first }} {{ [1,2,3]|length }} {{ 'héé'|length }} {{ {'a': 1}|count }} {{ [1,2,3]|sum }} {{ [{'v': 1}, {'v': 2}]|sum(attribute='v') }} {{ [1,2]|sum(start=10) }} {{ [1,3,2]|max }} {{ [1,3,2]|min }} {{ ['a','B']|max }} {{ []|max }}
{{ [1,2,3]|map('string')|list }} {{ [{'a': 1}, {'a': 2}]|map(attribute='a')|list }} {{ [{'a': 1}, {}]|map(attribute='a', default=9)|list }} {{ ['a','b']|map('upper')|join }} {{ [1,2,3,4]|select('even')|list }} {{ [1,2,3]|reject('odd')|list }} {{ [0,1,'']|select|list }} {{ [1,2,3]|select('greaterthan', 1)|list }} {{ [{'r': 'a', 'x': 1}, {'r': 'b'}]|selectattr('r', 'equalto', 'a')|map(attribute='x')|list }} {{ [{'r': 1}, {}]|selectattr('r', 'defined')|list }} {{ [{'r': 1}, {'r': 0}]|rejectattr('r')|list }} {{ ['ab', 'c']|map('replace', 'a', 'x')|list }} {{ [[1],[2]]|map('first')|list }}
{{ 'true' if []|map('upper') else 'false' }} {{ [1,2]|reverse|list }} {{ 'abc'|reverse }} {{ [1,1,2]|unique|list }} {{ ['a','A']|unique|list }} {{ [1,2,3,4,5]|batch(2)|list }} {{ [1,2,3]|batch(2, 'x')|list }} {{ [1,2,3,4,5]|slice(2)|list }} {{ [1,2,3]|slice(2, 'x')|list }} {{ 'abc'|list }} {{ [{'g': 1, 'v': 'a'}, {'g': 2, 'v': 'b'}, {'g': 1, 'v': 'c'}]|groupby('g')|map('last')|list }}
{{ none|default('d') }} {{ undefined_thing|default('d') }} {{ ''|default('d', true) }} {{ ''|default('d') }} {{ none|d('x', boolean=true) }} {{ undefined_thing|default }}|
{{ '5'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ '3.7'|int }} {{ 3.9|int }} {{ '0x1A'|int(0, 16) }} {{ 'ff'|int(base=16) }} {{ '1_000'|int }} {{ true|int }} {{ '2.5'|float }} {{ 'x'|float }} {{ 3|float }} {{ ' 42 '|int }} {{ none|int }}
{{ 2.567|round(1) }} {{ 2.5|round }} {{ 3.5|round }} {{ 2.1|round(method='ceil') }} {{ 2.9|round(0, 'floor') }} {{ 3|round }} {{ 1234.5|round(-2) }} {{ 0.125|round(2) }} {{ 42.55|round(1) }}
{{ 'hello world'|title }} {{ "it's a-b (c)"|title }} {{ 'hELLO'|capitalize }} {{ 'x'|center(5) }}| {{ '  x '|trim }}| {{ 'xyx'|trim('x') }} {{ 'a<b>&"\''|e }} {{ 'a b/c?é'|urlencode }} {{ {'a': 1, 'b c': '&'}|urlencode }} {{ 'one two three'|wordcount }} {{ '<p>a  <b>x</b></p>'|striptags }} {{ 5|string ~ 'x' }} {{ 'abc'|upper|lower }}
{{ 'a\nb\n\nc'|indent }} {{ 'a\nb'|indent(2, true) }} {{ 'a\n\nb'|indent(2, blank=true) }} {{ 'a\nb'|indent('> ') }} {{ 'a\nb\n'|indent(2) }}|
{{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz qux'|truncate(11) }} {{ 'foo bar baz qux'|truncate(11, false, '...', 0) }} {{ 1000|filesizeformat }} {{ 1|filesizeformat }} {{ 123456789|filesizeformat }} {{ 123456|filesizeformat(true) }} {{ {'a': 1, 'b': none, 'c': '<'}|xmlattr }}
{{ {'a': [1, 2.0, 'é"\n', none, true], 'b': {}}|tojson }} {{ []|tojson }} {{ 'x'|tojson }} {{ {'b': 1, 'a': [1, {'c': []}]}|tojson(indent=2) }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }} {{ {'a': 1, 'b': 2}|tojson(separators=(',', ':')) }} {{ 'é🙂\x7f'|tojson(ensure_ascii=true) }} {{ (1, 2)|tojson }} {{ '<&>'|tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }} {{ '\x00\x1f\x08\x0c\r/'|tojson }} {{ [1e16, 1e-7, 1.0]|tojson }}
{{ 4 is even }} {{ 3 is odd }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 'a' is string }} {{ 1 is number }} {{ 1 is integer }} {{ 1.0 is float }} {{ true is integer }} {{ true is boolean }} {{ true is number }} {{ none is none }} {{ {} is mapping }} {{ [] is iterable }} {{ 'a' is iterable }} {{ 5 is iterable }} {{ 'a' is sequence }} {{ {} is sequence }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ 'ab' is lower }} {{ 'AB' is upper }} {{ 1 is sameas 1 }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 2 }} {{ 1 is in [1] }} {{ 1 is not in [1] }} {{ 'a' is not none }} {{ range is callable }} {{ 'upper' is filter }} {{ 'x' is filter }} {{ 'even' is test }} {{ 2 is not odd and 3 is odd }} {{ 1 is not defined }}
{{ range(3)|list }} {{ range(1, 4)|list }} {{ range(5, 0, -2)|list }} {{ range(0)|list }} {{ range(3)[1] }} {{ range(10)|length }}
{% set a = 1 %}{% set b, c = 2, 3 %}{% set d = [1, 2] %}{{ a }}{{ b }}{{ c }}{{ d }}{% set e %}block {{ a }}{% endset %}{{ e }}{% set f | upper %}x{{ a }}y{% endset %}{{ f }}{% set g = 1, 2 %}{{ g }}
{% set ns = namespace(n=0, items=[]) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% set ns.items = ns.items + [i] %}{% endfor %}{{ ns.n }}{{ ns.items }}{{ ns.missing is defined }}{{ namespace({'q': 4}).q }}
{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}
{% for i in [1,2,3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }};{% endfor %}
{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }},{% endfor %}{% for k in {'x': 1} %}{{ k }}{% endfor %}{% for c in 'añb' %}{{ c }}.{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for i in [] %}x{% else %}empty{% endfor %}{% for i in [1,2,3,4] if i is even %}{{ i }}{{ loop.index }}{{ loop.length }}{% else %}none{% endfor %}{% for i in [1] if i > 1 %}x{% else %}none{% endfor %}{% for i in undefined_thing %}x{% else %}u{% endfor %}
{% for i in range(6) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}{% for i in [1,2] %}{% for j in [1,2] %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }}{{ loop.depth }} {% endfor %}{% endfor %}
{% for item in [{'n': 1, 'c': [{'n': 2, 'c': []}, {'n': 3, 'c': [{'n': 4, 'c': []}]}]}] recursive %}({{ item.n }}@{{ loop.depth }}{{ loop(item.c) }}){% endfor %}
{% for i in [1,1,2,2,1] %}{{ loop.changed(i) }}{% endfor %}{% for x in [1,2,3] %}{% for y in [4] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}
{% macro m(a, b=2, c='x') %}[{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c='z') }}{{ m(1, 2, 3, 4, 5) }}{{ m(1, q=5) }}{{ m() }}{% macro fact(n) %}{% if n <= 1 %}1{% else %}{{ n * fact(n - 1)|int }}{% endif %}{% endmacro %}{{ fact(5) }}
{% macro outer() %}{% set v = 3 %}{{ caller(v) }}{% endmacro %}{% call(x) outer() %}<{{ x }}>{% endcall %}{% macro box() %}[{{ caller() }}]{% endmacro %}{% call box() %}in{% endcall %}{% set g = 5 %}{% macro uses() %}{{ g }}{% endmacro %}{{ uses() }}{{ uses()|length }}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 4 %}{% endwith %}{{ a is defined }}{{ c is defined }}{% filter upper %}abc {{ 'd' }}{% endfilter %}{% filter replace('a', 'b')|upper %}aa{% endfilter %}{% autoescape false %}<x>{% endautoescape %}
{% raw %}{{ not }} {% a %}{% endraw %}|{%- raw -%}  x {{ y }}  {%- endraw -%} | {# comment {{ x }} #}after{#- c -#}  z
{% if false %}a{% elif 1 == 2 %}b{% elif 'x' %}c{% else %}d{% endif %}{% if not undefined_thing %}u{% endif %}{% if [] or {} %}x{% else %}y{% endif %}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}{% set j = joiner('|') %}{{ j() }}1{{ j() }}2{{ j() }}3
{{ strftime_now('%Y-%m-%d %H:%M:%S') }} {{ strftime_now('%d %b %Y') }} {{ strftime_now('%A, %B %-d') }} {{ strftime_now('%j %y %I %p %%') }}
{{ [1,2,3].index(2) }} {{ [1,2,1].count(1) }} {{ (1,2).index(2) }} {{ 'a'.join('xyz') }} {{ 'abc'|attr('upper') is defined }} {{ [[1, 2], [3, 4]]|map('join', '-')|join(';') }} {{ ['x']|map('length')|first }}
{{ m.role if m is defined else 'none' }} {{ messages[0].role }} {{ messages[0]['content'] }} {{ messages|length }} {{ messages[-1]['content'][:4] }} {{ messages|map(attribute='role')|join(',') }} {{ messages[0].get('tool_calls') is none }} {{ (messages|selectattr('role', 'eq', 'user')|list)[0].content }} {{ bos_token }} {{ messages[0] }}
{{ f(*[1, 2], **{'c': 3}) if f is defined else '' }}{% macro f2(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f2(*[1, 2], **{'c': 3}) }} {{ dict(**{'x': 1}) }}
{{ (1, 2)[0] }}{{ (1) }}{{ (1,) }}{{ () }}{{ [1, 2,] }}{{ {'a': 1,} }}{{ 1, 2 }}{{ [(1, 2), 3][0][1] }}
"""

BLOCKS = [
    "{% if true %}\n  yes\n{% endif %}\nend\n",
    "  {% if true %}\n    a\n  {% endif %}\n  b {% if true %} c {% endif %} d\n",
    "a\n   {%- if true -%}\n  b  \n {%- endif %}  \n c",
    "a\n   {%+ if true %}\n  b\n   {%+ endif +%}\nc\n\n",
    "{{ 'x' }}\n{{ 'y' }}\n\n{{- 'z' -}}\n\n w",
    "{# c #}\nx{# d #}\n\n  {# e #}  \ny\n   {#- f -#}\n z",
    "{%- for i in [1,2] -%}\n  {{ i }}\n{%- endfor -%}\n!",
    "{% for i in [1,2] %}\n  {{ i }}\n{% endfor %}\n!",
    "x\r\ny\rz\n{% set a = 1 %}\r\n{{ a }}\r\n",
    "  {{ 1 }}  \n\t{% set x = 2 %}\t\n\t{{ x }}",
    "{% raw %}\n {{ x }}\n  {% endraw %}\n after",
    "a {%- raw %}  b {% endraw -%}  c",
    "{{ '{{' }} {{ '%}' }} {{ {'a': {'b': 1}} }} {{ {'a': {}}['a'] }}",
    "{% set x = {'a': {'b': 2}} %}{{ x.a.b }}\n\n",
    "line1\n    {%- if true %}\n    line2\n    {%- endif %}\n",
    "\u00a0{% if true %}x{% endif %}\u00a0{%- if true %}y{% endif -%}\u00a0 z",
]

CHAT = {
    "chatml": "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "default_system": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helper<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "inst": "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token }}{% endif %}{% endfor %}",
    "headers": "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
    "turns": "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] + '\n\n' %}{% set loop_messages = messages[1:] %}{% else %}{% set first = '' %}{% set loop_messages = messages %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + (first if loop.first else '') + (message['content'] | trim) + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}",
    "tool_list": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning_content) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "python_tools": """{{- bos_token }}
{%- if custom_tools is defined %}{% set tools = custom_tools %}{% endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "types": """{%- macro render_type(spec, required=false) -%}
{%- if spec.type == "array" -%}
{%- if spec['items'] -%}{{- render_type(spec['items']) + "[]" }}{%- else -%}any[]{%- endif -%}
{%- elif spec.type is iterable and spec.type is not string -%}{{ spec.type | join(" | ") }}
{%- elif spec.enum -%}{{ '"' + spec.enum|join('" | "') + '"' }}
{%- elif spec.type == "object" and spec.properties -%}{ {%- for k, v in spec.properties.items() %}{{ k }}: {{ render_type(v) }}{% if not loop.last %}, {% endif %}{%- endfor -%} }
{%- else -%}{{ spec.type or "any" }}{%- endif -%}
{%- endmacro -%}
{%- if tools %}namespace functions {
{% for tool in tools %}
// {{ tool.function.description }}
type {{ tool.function.name }} = (_: {
{%- for name, spec in tool.function.parameters.properties.items() %}
  {{ name }}{% if name not in (tool.function.parameters.required or []) %}?{% endif %}: {{ render_type(spec) }}{% if spec.default is defined %} // default: {{ spec.default }}{% endif %},
{%- endfor %}
}) => any;
{% endfor %}
} // namespace functions
{% endif %}
{%- for m in messages %}<|{{ m.role }}|>{{ m.content if m.content is string else (m.content or [])|selectattr('type', 'equalto', 'text')|map(attribute='text')|join('') }}{% endfor %}""",
    "parts": """{%- for message in messages -%}
<{{ message.role }}>
{%- if message.content is string -%}{{ message.content | trim }}
{%- elif message.content is iterable -%}
{%- for item in message.content -%}
{%- if item.type == 'image' -%}<image>{%- elif item.type == 'text' -%}{{ item.text | trim }}{%- endif -%}
{%- endfor -%}
{%- elif not message.content -%}
{%- else -%}{{ raise_exception("Invalid content type") }}{%- endif -%}
{%- generation %}{{ '|' }}{% endgeneration -%}
{% endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
""",
    "documents": """{%- set counter = namespace(value=0) -%}
{%- if documents -%}{% for doc in documents %}Document {{ loop.index }}: {{ doc.title }}
{{ doc.text | indent(2, first=true) }}
{% endfor %}{%- endif -%}
{%- for role, group in messages|groupby('role') %}{{ role }}:{{ group|length }} {% endfor -%}
{%- for m in messages if m.role != 'system' -%}
{%- set counter.value = counter.value + 1 -%}
{{ "%02d" % counter.value }} {{ m.role|upper }}: {{ m.content|default('', true)|string|truncate(40) }}
{% endfor -%}{{ counter.value }}""",
}

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a place", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "Stadt, z. B. Köln"},
                                     "days": {"type": "integer", "default": 3},
                                     "units": {"type": "string", "enum": ["C", "F"]},
                                     "tags": {"type": "array", "items": {"type": "string"}},
                                     "where": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": ["number", "null"]}}}},
    "required": ["city"]}}}]

CONVERSATIONS = {
    "one": [{"role": "user", "content": "Hello, wörld! 🙂"}],
    "system": [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "What is 1 < 2?"},
               {"role": "assistant", "content": "<think>\nhm\n</think>\n\nTrue."}, {"role": "user", "content": "Why \"so\"?\n"}],
    "tools": [{"role": "user", "content": "Weather in Köln?"},
              {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2, "x": 1.5}}}]},
              {"role": "tool", "content": "{\"temp\": 21}"}, {"role": "assistant", "content": "21 degrees."}],
    "parts": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What is it? "}]}],
}


def environment():
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

        def _run(self, caller):
            return caller()

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: NOW.strftime(form)
    return env


def main():
    env = environment()
    cases = []

    templates = {}

    def add(name, source, talk, tools=None, **variables):
        templates[name] = source
        values = dict(messages=CONVERSATIONS[talk], tools=tools, bos_token="<s>", eos_token="</s>",
                      add_generation_prompt=True, **variables)
        try:
            want = {"want": env.from_string(source).render(**values)}
        except (jinja2.exceptions.TemplateError, TypeError) as error:
            want = {"error": str(error)}
        cases.append({"template": name, "messages": talk, "tools": tools is not None,
                      "variables": variables, **want})

    for i, line in enumerate(EXPRESSIONS.strip().split("\n")):
        add(f"expressions {i}", line, "system")
    for i, block in enumerate(BLOCKS):
        add(f"white space {i}", block, "one")
    for name, source in CHAT.items():
        for talk in CONVERSATIONS:
            add(name, source, talk)
            add(name, source, talk, TOOLS, enable_thinking=False,
                documents=[{"title": "T", "text": "a\nb"}])
    with open("cases.json", "w") as file:
        json.dump({"source": f"jinja2 {jinja2.__version__}", "templates": templates, "conversations": CONVERSATIONS,
                   "tools": TOOLS, "cases": cases}, file, indent=0)
    failed = [c for c in cases if "error" in c]
    for c in failed:
        print(c["template"], c["messages"], "->", c["error"])
    print(len(cases), "cases,", len(failed), "errors")


if __name__ == "__main__":
    main()
