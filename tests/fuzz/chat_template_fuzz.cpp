// The chat-template interpreter on any bytes: it renders or throws UserError, within its limits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lamella;
  static const std::vector<Message> messages = {
      {"system", " Be brief. ", ""},
      {"user", "Größe? \xFF 🙂\n", ""},
      {"assistant", "",
       R"({"content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5]}}}]})"},
      {"user", "", R"({"content": [{"type": "text", "text": "a"}, {"type": "image"}]})"},
  };
  static const std::string tools =
      R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])";
  RenderOptions options;
  options.tools_json = tools;
  options.bos_token = "<s>";
  options.now = 1772719629;
  options.max_steps = 50'000;
  options.max_output_bytes = 1 << 20;
  try {
    const ChatTemplate chat(std::string(reinterpret_cast<const char*>(data), size));
    chat.render(messages, options);
  } catch (const UserError&) {
    // A bad template; any other exception is a bug and ends the process.
  }
  return 0;
}
