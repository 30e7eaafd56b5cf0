#include "lamella/cli/trace.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/cli/step.h"

namespace lamella::cli {
namespace {

using nlohmann::ordered_json;
using Time = std::chrono::steady_clock::time_point;

constexpr std::string_view kPhaseNames[] = {"prefill", "decode"};

// Lines of the picture: engine steps above the kernels that they consist of.
constexpr int kStepLine = 1, kKernelLine = 2;

class Writer {
 public:
  Writer(std::ostream& out, Time start) : out_(out), start_(start) {}

  void name_line(int line, std::string_view name) {
    put({{"name", "thread_name"},
         {"ph", "M"},
         {"pid", 1},
         {"tid", line},
         {"args", {{"name", name}}}});
  }
  void span(std::string_view name, int line, Time start, Time end, ordered_json args) {
    put({{"name", name},
         {"ph", "X"},
         {"pid", 1},
         {"tid", line},
         {"ts", micros(start)},
         {"dur", micros(end) - micros(start)},
         {"args", std::move(args)}});
  }

 private:
  double micros(Time t) const {
    return std::chrono::duration<double, std::micro>(t - start_).count();
  }
  void put(const ordered_json& event) {
    out_ << (is_first_ ? "" : ",\n") << event.dump();
    is_first_ = false;
  }

  std::ostream& out_;
  Time start_;
  bool is_first_ = true;
};

// The end of the run that begins with the binding at `first`.
size_t end_of_run(const std::vector<StepSpan>& spans, size_t first) {
  size_t at = first + 1;
  while (at < spans.size() && (spans[at].step != StepSpan::kBinding || spans[at].segment > 0)) ++at;
  return at;
}

void write_phase(Writer& writer, const Engine& engine, Phase phase,
                 const std::vector<StepSpan>& spans) {
  const Program& program = engine.program(phase);
  const std::vector<NodeReport> rows =
      program.report(bind_step(program.graph(), engine.context(), {}));
  for (size_t first = 0; first < spans.size();) {
    const size_t end = end_of_run(spans, first);
    writer.span(str(kPhaseNames[static_cast<size_t>(phase)], " step"), kStepLine,
                spans[first].start, spans[end - 1].end, {{"spans", end - first}});
    for (; first < end; ++first) {
      const StepSpan& s = spans[first];
      if (s.step == StepSpan::kBinding) {
        writer.span(str("bind segment ", s.segment), kKernelLine, s.start, s.end,
                    {{"segment", s.segment}});
        continue;
      }
      const NodeReport& r = rows[s.step];
      writer.span(r.row, kKernelLine, s.start, s.end,
                  {{"op", r.op},
                   {"origin", r.origin},
                   {"node", r.node},
                   {"type", r.type.text()},
                   {"segment", s.segment}});
    }
  }
}

}  // namespace

Trace::Trace(Engine& engine) : engine_(engine) {
  for (Phase phase : {Phase::bulk, Phase::decode})
    engine_.record_steps(phase, &spans_[static_cast<size_t>(phase)]);
}

Trace::~Trace() {
  for (Phase phase : {Phase::bulk, Phase::decode}) engine_.record_steps(phase, nullptr);
}

void Trace::write(const std::string& path) const {
  std::ofstream file(path);
  file << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  Writer writer(file, start_);
  writer.name_line(kStepLine, "engine steps");
  writer.name_line(kKernelLine, "kernels");
  for (Phase phase : {Phase::bulk, Phase::decode})
    write_phase(writer, engine_, phase, spans_[static_cast<size_t>(phase)]);
  file << "\n]}\n";
  file.flush();
  CHECK_USER(file, "--trace: cannot write '", printable(path), "'");
}

}  // namespace lamella::cli
