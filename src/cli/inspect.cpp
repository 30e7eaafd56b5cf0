// lamella inspect: what a model file holds.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/python_package.h"
#include "lamella/base/text.h"
#include "lamella/cli/inspect_memory.h"
#include "lamella/cli/table.h"
#include "lamella/frontends/gguf/gguf.h"

namespace lamella::cli {
namespace {

struct Options {
  ModelFlags model;
  bool tensors = false, memory = false, json = false;
};

std::string dims_text(const gguf::Tensor& t) { return "[" + join(t.dims, ", ") + "]"; }

struct TypeTotal {
  int64_t tensors = 0, elements = 0, bytes = 0;
};

// By name of the element type.
std::map<std::string, TypeTotal> totals(const gguf::Gguf& file) {
  std::map<std::string, TypeTotal> out;
  for (const gguf::Tensor& t : file.tensors()) {
    TypeTotal& total = out[t.type_name()];
    ++total.tensors;
    total.elements += t.problem.empty() ? t.elements() : 0;
    total.bytes += static_cast<int64_t>(t.bytes.size());
  }
  return out;
}

void print_summary(const gguf::Gguf& file) {
  TypeTotal all;
  Table table({"type", ">tensors", ">elements", ">size"});
  for (const auto& [name, t] : totals(file)) {
    table.add({name, std::to_string(t.tensors), human_count(static_cast<uint64_t>(t.elements)),
               human_bytes(static_cast<uint64_t>(t.bytes))});
    all.tensors += t.tensors, all.elements += t.elements, all.bytes += t.bytes;
  }
  std::printf("%s: GGUF %u%s", file.name().c_str(), file.version(),
              file.big_endian() ? ", big-endian" : "");
  if (file.parts() > 1) std::printf(", %d parts", file.parts());
  std::printf("\n%s architecture, %lld tensors, %s elements, %s\n\n",
              printable(file.get_or<std::string>("general.architecture", "no")).c_str(),
              static_cast<long long>(all.tensors),
              human_count(static_cast<uint64_t>(all.elements)).c_str(),
              human_bytes(static_cast<uint64_t>(all.bytes)).c_str());
  std::puts(table.text().c_str());
}

void print_metadata(const gguf::Gguf& file) {
  Table table({"metadata", "value"});
  for (const gguf::Entry& e : file.metadata())
    table.add({printable(e.key, 60), gguf::describe(e.value)});
  std::puts(table.text().c_str());
}

void print_tensors(const gguf::Gguf& file) {
  Table table({"tensor", "type", "sizes", ">bytes", ""});
  for (const gguf::Tensor& t : file.tensors())
    table.add({printable(t.name, 80), t.type_name(), dims_text(t), std::to_string(t.bytes.size()),
               t.problem});
  std::puts(table.text().c_str());
}

// What would keep the file from being used, if anything does.
void print_problems(const gguf::Gguf& file) {
  for (const gguf::Tensor& t : file.tensors())
    if (!t.problem.empty())
      std::printf("problem: tensor '%s': %s\n", printable(t.name, 80).c_str(), t.problem.c_str());
}

void print_json(const gguf::Gguf& file, const Options& o) {
  nlohmann::ordered_json j;
  j["file"] = file.name();
  j["version"] = file.version();
  j["parts"] = file.parts();
  for (const gguf::Entry& e : file.metadata())
    j["metadata"][std::string(e.key)] = gguf::describe(e.value);
  j["tensors"] = nlohmann::ordered_json::array();
  for (const gguf::Tensor& t : file.tensors()) {
    nlohmann::ordered_json row{{"name", t.name},
                               {"type", t.type_name()},
                               {"sizes", t.dims},
                               {"bytes", t.bytes.size()},
                               {"offset", t.file_offset}};
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
  const auto file = gguf::Gguf::open(model_path(o.model.model).string());
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
