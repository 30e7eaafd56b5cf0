// lamella inspect: what a model file holds.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/python_package.h"
#include "lamella/base/text.h"
#include "lamella/cli/inspect_memory.h"
#include "lamella/cli/table.h"
#include "lamella/frontends/checkpoint.h"
#include "lamella/frontends/gguf/gguf.h"

namespace lamella::cli {
namespace {

struct Options {
  ModelFlags model;
  bool tensors = false, memory = false, json = false;
};

// A model of any kind, as it is shown.
struct Listing {
  struct Row {
    std::string name, type;
    std::vector<int64_t> sizes;
    int64_t elements = 0;
    uint64_t bytes = 0, offset = 0;
    std::string problem;
  };
  std::string name, kind, architecture;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<Row> tensors;
};

Listing list_gguf(const std::string& path) {
  const auto file = gguf::Gguf::open(path);
  Listing l{path,
            str("GGUF ", file.version(), file.big_endian() ? ", big-endian" : ""),
            file.get_or<std::string>("general.architecture", "no"),
            {},
            {}};
  if (file.parts() > 1) l.kind += str(", ", file.parts(), " parts");
  for (const gguf::Entry& e : file.metadata())
    l.metadata.emplace_back(e.key, gguf::describe(e.value));
  for (const gguf::Tensor& t : file.tensors())
    l.tensors.push_back({std::string(t.name), t.type_name(), t.dims,
                         t.problem.empty() ? t.elements() : 0, t.bytes.size(), t.file_offset,
                         t.problem});
  return l;
}

struct ValueText {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return number_text(v); }
  std::string operator()(const std::string& v) const { return "'" + printable(v) + "'"; }
  template <class T>
  std::string operator()(const std::vector<T>& v) const {
    return str("array of ", v.size());
  }
};

// A folder, under the names that builders know.
Listing list_folder(const std::string& path) {
  std::vector<std::string> problems;
  const Checkpoint c = load_checkpoint(path, &problems);
  Listing l{path, "Hugging Face folder", c.architecture, {}, {}};
  for (const auto& [key, value] : c.metadata)
    l.metadata.emplace_back(key, std::visit(ValueText{}, value));
  for (const auto& [name, t] : c.tensors)
    l.tensors.push_back({name, std::string(t.dtype().name()), t.shape(), t.numel(), t.bytes(),
                         t.storage()->offset, ""});
  for (const std::string& problem : problems) l.tensors.push_back({"", "", {}, 0, 0, 0, problem});
  return l;
}

Listing list_model(const std::string& path) {
  return model_folder(path) ? list_folder(path) : list_gguf(path);
}

struct TypeTotal {
  int64_t tensors = 0, elements = 0, bytes = 0;
};

void print_summary(const Listing& l) {
  std::map<std::string, TypeTotal> totals;
  TypeTotal all;
  for (const Listing::Row& t : l.tensors)
    for (TypeTotal* total : {&totals[t.type], &all}) {
      ++total->tensors;
      total->elements += t.elements;
      total->bytes += static_cast<int64_t>(t.bytes);
    }
  Table table({"type", ">tensors", ">elements", ">size"});
  for (const auto& [name, t] : totals)
    table.add({name, std::to_string(t.tensors), human_count(static_cast<uint64_t>(t.elements)),
               human_bytes(static_cast<uint64_t>(t.bytes))});
  std::printf("%s: %s\n%s architecture, %lld tensors, %s elements, %s\n\n", l.name.c_str(),
              l.kind.c_str(), printable(l.architecture).c_str(),
              static_cast<long long>(all.tensors),
              human_count(static_cast<uint64_t>(all.elements)).c_str(),
              human_bytes(static_cast<uint64_t>(all.bytes)).c_str());
  std::puts(table.text().c_str());
}

void print_metadata(const Listing& l) {
  Table table({"metadata", "value"});
  for (const auto& [key, value] : l.metadata) table.add({printable(key, 60), value});
  std::puts(table.text().c_str());
}

void print_tensors(const Listing& l) {
  Table table({"tensor", "type", "sizes", ">bytes", ""});
  for (const Listing::Row& t : l.tensors)
    table.add({printable(t.name, 80), t.type, "[" + join(t.sizes, ", ") + "]",
               std::to_string(t.bytes), t.problem});
  std::puts(table.text().c_str());
}

// What would keep the model from being used, if anything does.
void print_problems(const Listing& l) {
  for (const Listing::Row& t : l.tensors)
    if (!t.problem.empty())
      std::printf("problem: %s%s%s\n", t.name.empty() ? "" : "tensor '",
                  t.name.empty() ? "" : (printable(t.name, 80) + "': ").c_str(), t.problem.c_str());
}

void print_json(const Listing& l, const Options& o) {
  nlohmann::ordered_json j{{"file", l.name}, {"kind", l.kind}};
  for (const auto& [key, value] : l.metadata) j["metadata"][key] = value;
  j["tensors"] = nlohmann::ordered_json::array();
  for (const Listing::Row& t : l.tensors) {
    nlohmann::ordered_json row{{"name", t.name},
                               {"type", t.type},
                               {"sizes", t.sizes},
                               {"bytes", t.bytes},
                               {"offset", t.offset}};
    if (!t.problem.empty()) row["problem"] = t.problem;
    j["tensors"].push_back(row);
  }
  if (o.memory) {
    const ModelMemory m = estimate_model_memory(o.model);
    j["memory"] = {{"weights", m.weights},           {"kv", m.kv},
                   {"context", m.context},           {"prefill_arena", m.arena_prefill},
                   {"decode_arena", m.arena_decode}, {"available", m.available}};
  }
  std::puts(j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int run(const Options& o) {
  const Listing file = list_model(model_path(o.model.model).string());
  if (o.json) return print_json(file, o), kDone;
  print_summary(file);
  if (o.memory)
    return std::fputs(memory_text(estimate_model_memory(o.model)).c_str(), stdout), kDone;
  if (o.tensors)
    print_tensors(file);
  else
    print_metadata(file);
  print_problems(file);
  return kDone;
}

}  // namespace

void add_inspect(Command command) {
  auto o = std::make_shared<Options>();
  add_model_flags(command, o->model);
  command.flag("--memory", o->memory, "what the model needs to run, for --ctx positions");
  command.flag("--tensors", o->tensors, "every tensor instead of the metadata");
  command.flag("--json", o->json, "one JSON object: metadata and tensors");
  command.action([o] { return run(*o); });
}

}  // namespace lamella::cli
