#include "lamella/check/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"

namespace lamella::check {
namespace {
constexpr const char* kNames[] = {"ok", "FAILED", "skipped"};
}

int Report::count(Outcome outcome) const {
  return static_cast<int>(std::count_if(entries.begin(), entries.end(),
                                        [&](const Entry& e) { return e.outcome == outcome; }));
}

std::string Report::text(bool all) const {
  std::string out;
  for (const Entry& e : entries) {
    if (!all && e.outcome == Outcome::passed) continue;
    out += str(e.name, ": ", kNames[static_cast<int>(e.outcome)], e.detail.empty() ? "" : "; ",
               e.detail, "\n");
  }
  for (const std::string& n : notes) out += n + "\n";
  out += str(count(Outcome::passed), " passed, ", count(Outcome::failed), " failed");
  if (const int skipped = count(Outcome::skipped)) out += str(", ", skipped, " skipped");
  return out + "\n";
}

std::string Report::json() const {
  nlohmann::json j;
  for (const Entry& e : entries)
    j["entries"].push_back(
        {{"name", e.name}, {"outcome", kNames[static_cast<int>(e.outcome)]}, {"detail", e.detail}});
  j["notes"] = notes;
  j["passed"] = count(Outcome::passed);
  j["failed"] = count(Outcome::failed);
  j["skipped"] = count(Outcome::skipped);
  return j.dump(1);
}

}  // namespace lamella::check
