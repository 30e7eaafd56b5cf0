// lamella chat: a conversation with a language model. Each turn computes only what is new: the
// model's memory of the turns before is kept.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/cli/generate_flags.h"
#include "lamella/cli/interrupt.h"
#include "lamella/cli/line_reader.h"
#include "lamella/cli/model_flags.h"

namespace lamella::cli {
namespace {

struct Options {
  ModelFlags model;
  GenerateFlags generate;
  std::string system;
  int64_t snapshot_mib = 64;
};

LoadOptions with_snapshots(const Options& o) {
  LoadOptions options = load_options(o.model);
  options.snapshot_bytes = o.snapshot_mib << 20;
  return options;
}

class Conversation {
 public:
  Conversation(const Options& o)
      : options_(generate_options(o.generate)),
        model_(load_model(o.model, with_snapshots(o))),
        filter_(grammar_filter(o.generate, *model_)),
        sequence_(model_->engine()),
        system_(o.system) {
    model_->chat_template();  // says now where there is none
    options_.filter = filter_.get();
    options_.on_token = stream_text;
    options_.cancel = &interrupted();
  }

  // What the turns before left in the KV cache, or in a snapshot of it, is not computed again.
  void answer(const std::string& question) {
    turns_.push_back({.role = "user", .content = question, .more_json = {}});
    Generation g;
    int64_t n_reused = 0;
    try {
      const std::vector<int32_t> prompt = model_->tokenizer().encode(
          model_->render_chat(messages()), {.add_special = false, .parse_special = true});
      if (filter_) filter_->reset();
      n_reused = sequence_.resume(prompt);
      const auto rest = std::span(prompt).subspan(static_cast<size_t>(n_reused));
      g = generate(*model_, sequence_, rest, options_);
    } catch (const UserError&) {
      turns_.pop_back();
      throw;
    }
    std::puts("");
    sequence_.keep();
    turns_.push_back({.role = "assistant", .content = g.text, .more_json = {}});
    std::fprintf(stderr,
                 "[prompt %lld tokens, %lld reused, %.1f tokens/s | answer %zu tokens, %.1f "
                 "tokens/s | ended by %s]\n",
                 static_cast<long long>(n_reused + g.prompt_tokens),
                 static_cast<long long>(n_reused), prompt_rate(g), g.tokens.size(), answer_rate(g),
                 g.stop.c_str());
  }

  void reset() {
    turns_.clear();
    sequence_.truncate(0);
  }

  // Forgets the last question and its answer.
  void undo() {
    CHECK_USER(turns_.size() >= 2, "/undo: there is no answer yet");
    turns_.resize(turns_.size() - 2);
  }

  void set_system(const std::string& text) {
    system_ = text;
    reset();
  }

  void save(const std::string& path) const {
    nlohmann::ordered_json j = nlohmann::ordered_json::array();
    for (const Message& m : messages()) j.push_back({{"role", m.role}, {"content", m.content}});
    std::ofstream file(path);
    file << j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    file.flush();
    CHECK_USER(file, "/save: cannot write '", printable(path), "'");
    std::fprintf(stderr, "[%zu messages in %s]\n", j.size(), path.c_str());
  }

 private:
  std::vector<Message> messages() const {
    std::vector<Message> all;
    if (!system_.empty()) all.push_back({.role = "system", .content = system_, .more_json = {}});
    all.insert(all.end(), turns_.begin(), turns_.end());
    return all;
  }

  GenerateOptions options_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<GrammarFilter> filter_;
  Sequence sequence_;
  std::string system_;
  std::vector<Message> turns_;
};

struct ChatCommand {
  std::string_view name, argument, doc;
  void (*run)(Conversation&, const std::string& argument);
};
constexpr ChatCommand kCommands[] = {
    {"/reset", "", "forget the conversation",
     [](Conversation& c, const std::string&) { c.reset(); }},
    {"/undo", "", "forget the last question and its answer",
     [](Conversation& c, const std::string&) { c.undo(); }},
    {"/system", "TEXT", "a system message; begins anew",
     [](Conversation& c, const std::string& text) { c.set_system(text); }},
    {"/save", "FILE", "write the conversation as JSON",
     [](Conversation& c, const std::string& path) { c.save(path); }},
};

std::string command_list() {
  std::string out;
  for (const ChatCommand& c : kCommands)
    out += str(out.empty() ? "" : ", ", c.name, c.argument.empty() ? "" : " ", c.argument, " (",
               c.doc, ")");
  return out;
}

void run_command(Conversation& conversation, const std::string& line) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  const std::string argument = space == std::string::npos ? "" : line.substr(space + 1);
  for (const ChatCommand& c : kCommands) {
    if (c.name != name) continue;
    CHECK_USER(c.argument.empty() == argument.empty(), name, ": ",
               c.argument.empty() ? "takes nothing" : str("wants ", c.argument));
    return c.run(conversation, argument);
  }
  throw UserError(str("unknown command '", printable(name), "'; want ", command_list()));
}

int run(const Options& o) {
  Conversation conversation(o);
  LineReader lines("> ");
  if (lines.is_terminal())
    std::fprintf(stderr, "%s; Ctrl-C stops an answer, Ctrl-D ends.\n", command_list().c_str());
  for (;;) {
    catch_interrupts();
    const auto line = lines.next();
    if (!line) break;
    if (line->empty()) continue;
    try {
      if ((*line)[0] == '/')
        run_command(conversation, *line);
      else
        conversation.answer(*line);
    } catch (const UserError& e) {
      std::fprintf(stderr, "lamella chat: %s\n", e.what());
    }
  }
  return kDone;
}

}  // namespace

void add_chat(Command c) {
  auto o = std::make_shared<Options>();
  add_model_flags(c, o->model);
  c.text("--system", "TEXT", o->system, "a system message at the start");
  add_generate_flags(c, o->generate);
  c.integer("--snapshots", "MIB", o->snapshot_mib, {0, int64_t{1} << 20},
            "memory for what earlier turns computed; 0 keeps none");
  c.examples(
      "In the conversation: /reset, /undo, /system TEXT, /save FILE; Ctrl-C stops the answer, "
      "Ctrl-D "
      "ends.");
  c.action([o] { return run(*o); });
}

}  // namespace lamella::cli
