// Implements text/chat_template.h.
#include "lamella/text/chat_template.h"

#include <chrono>

#include "lamella/text/chat_template/evaluator.h"
#include "lamella/text/chat_template/json.h"
#include "lamella/text/chat_template/parser.h"

namespace lamella {
namespace {

using jinja::Meter;
using jinja::Value;

constexpr int kMaxDepth = 400;  // nested evaluations: what a thread's stack holds with ease

Value message_value(Meter& meter, const Message& message, size_t index) {
  std::vector<std::pair<Value, Value>> items;
  items.emplace_back(Value::constant("role"), Value::text(meter, message.role));
  items.emplace_back(Value::constant("content"), Value::text(meter, message.content));
  if (!message.more_json.empty()) {
    const std::string where = str("message ", index);
    const Value more = jinja::from_json(meter, message.more_json, where);
    CHECK_USER(more.is(Value::Kind::dict), where, ": further members are no JSON object; got ",
               jinja::type_name(more));
    for (const auto& item : more.dict().items) items.push_back(item);
  }
  return jinja::make_dict(meter, std::move(items));
}

int64_t size_of(const std::vector<Message>& messages, const RenderOptions& options) {
  size_t bytes = options.tools_json.size() + options.variables_json.size();
  for (const Message& m : messages)
    bytes += m.role.size() + m.content.size() + m.more_json.size() + 64;
  return static_cast<int64_t>(bytes);
}

int64_t clock_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

struct ChatTemplate::Tree {
  jinja::Block block;
};

ChatTemplate::ChatTemplate(std::string source) : source_(std::move(source)) {
  tree_ = std::make_unique<Tree>(Tree{jinja::parse_template(source_)});
}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

std::string ChatTemplate::render(const std::vector<Message>& messages,
                                 const RenderOptions& options) const {
  const int64_t given = size_of(messages, options) + static_cast<int64_t>(source_.size());
  Meter meter({.steps = options.max_steps + 32 * given,
               .bytes = (int64_t{32} << 20) + 64 * given,
               .depth = kMaxDepth});
  std::vector<Value> list;
  for (size_t i = 0; i < messages.size(); ++i) list.push_back(message_value(meter, messages[i], i));
  Value variables, tools = jinja::None{};
  if (!options.tools_json.empty()) tools = jinja::from_json(meter, options.tools_json, "tools");
  if (!options.variables_json.empty()) {
    variables = jinja::from_json(meter, options.variables_json, "template variables");
    CHECK_USER(variables.is(Value::Kind::dict), "template variables: no JSON object; got ",
               jinja::type_name(variables));
  }
  jinja::Evaluator evaluator(meter, options.max_output_bytes,
                             options.now ? *options.now : clock_seconds());
  evaluator.set_global("messages", jinja::make_list(meter, std::move(list)));
  evaluator.set_global("tools", tools);
  evaluator.set_global("add_generation_prompt", options.add_generation_prompt);
  evaluator.set_global("bos_token", Value::text(meter, options.bos_token));
  evaluator.set_global("eos_token", Value::text(meter, options.eos_token));
  if (variables.is(Value::Kind::dict))
    for (const auto& [name, value] : variables.dict().items)
      evaluator.set_global(name.string(), value);
  return evaluator.render(tree_->block);
}

}  // namespace lamella
