"""Makes styles.json: what Jinja2 (PyPI, 3.1) makes of the templates in styles/, in the environment that Hugging Face's
apply_chat_template sets up (make_cases.py has it). The templates are stand-ins: they do what those of well-known
families do, in words of our own. Run: python make_styles.py"""

import glob
import json
import os

import jinja2

from make_cases import TOOLS, environment

FOLDER = os.path.dirname(os.path.abspath(__file__))
CALL = {"type": "function", "id": "a1b2c3d4e", "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2, "hot": None}}}
CONVERSATIONS = {
    "one": [{"role": "user", "content": " Hello, wörld! 🙂 "}],
    "turns": [{"role": "system", "content": " Be brief.\nAnd kind. "}, {"role": "user", "content": "What is 1 < 2?"},
              {"role": "assistant", "content": "<think>\nhm\n</think>\n\nTrue & fine."}, {"role": "user", "content": "Why \"so\"?\n"}],
    "calls": [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Weather in Köln?"},
              {"role": "assistant", "content": "", "tool_calls": [CALL]},
              {"role": "tool", "content": "{\"temp\": 21}", "tool_call_id": "a1b2c3d4e"},
              {"role": "assistant", "content": "21 degrees."}, {"role": "user", "content": "Thanks"}],
    "ends": [{"role": "user", "content": "Tool, please"}, {"role": "assistant", "content": None, "tool_calls": [CALL]},
             {"role": "tool", "content": "no", "tool_call_id": "a1b2c3d4e"}, {"role": "tool", "content": "yes", "tool_call_id": "a1b2c3d4e"}],
    "parts": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What is it? "}]}],
}


def main():
    env = environment()
    templates, cases = {}, []
    for path in sorted(glob.glob(os.path.join(FOLDER, "styles", "*.jinja"))):
        name = os.path.basename(path)[:-len(".jinja")]
        with open(path) as file:
            templates[name] = file.read()
        for talk, messages in CONVERSATIONS.items():
            for tools in (None, TOOLS):
                variables = {"enable_thinking": False} if tools else {}
                values = dict(messages=messages, tools=tools, bos_token="<s>", eos_token="</s>",
                              add_generation_prompt=tools is None or talk != "ends", **variables)
                try:
                    want = {"want": env.from_string(templates[name]).render(**values)}
                except (jinja2.exceptions.TemplateError, TypeError) as error:
                    want = {"error": str(error)}
                cases.append({"template": name, "messages": talk, "tools": tools is not None, "variables": variables,
                              "add_generation_prompt": values["add_generation_prompt"], **want})
    with open(os.path.join(FOLDER, "styles.json"), "w") as file:
        json.dump({"source": f"jinja2 {jinja2.__version__}", "conversations": CONVERSATIONS, "tools": TOOLS,
                   "templates": templates, "cases": cases}, file, indent=0)
    for c in cases:
        if "error" in c:
            print(c["template"], c["messages"], c["tools"], "->", c["error"])
    print(len(templates), "templates,", len(cases), "cases,", sum("error" in c for c in cases), "errors")


main()
