// Renders the chat template of a model, a program in the Jinja language, for a conversation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamella {

struct Message {
  std::string role;
  std::string content;
  // Further members as a JSON object, which come before `content` if they name it: tool_calls,
  // tool_call_id, reasoning_content, content as a list of parts.
  std::string more_json;
};

struct RenderOptions {
  bool add_generation_prompt = true;
  std::string bos_token, eos_token;
  std::string tools_json;      // a JSON list; empty: `tools` is none
  std::string variables_json;  // a JSON object of further variables: enable_thinking, documents
  std::optional<int64_t> now;  // seconds since 1970 for strftime_now; unset: the clock

  size_t max_output_bytes = size_t{64} << 20;
  int64_t max_steps = 4'000'000;  // plus 32 for every byte of the conversation
};

class ChatTemplate {
 public:
  // UserError with the line for what is no template, or names a thing that templates lack.
  explicit ChatTemplate(std::string source);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // UserError with the line where the template fails, refuses or does not end. Threads may share.
  std::string render(const std::vector<Message>& messages, const RenderOptions& options = {}) const;

  const std::string& source() const { return source_; }

 private:
  struct Tree;
  std::string source_;
  std::unique_ptr<Tree> tree_;
};

}  // namespace lamella
