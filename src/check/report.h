// What a check found: one line an entry, counts at the end.
#pragma once

#include <string>
#include <vector>

namespace lamella::check {

enum class Outcome { passed, failed, skipped };

struct Entry {
  Outcome outcome = Outcome::passed;
  std::string name;    // "matmul #3 f16, matmul_packed on avx512"
  std::string detail;  // why it failed or was skipped
};

struct Report {
  std::vector<Entry> entries;
  std::vector<std::string> notes;

  void pass(std::string name) { entries.push_back({Outcome::passed, std::move(name), ""}); }
  void fail(std::string name, std::string why) {
    entries.push_back({Outcome::failed, std::move(name), std::move(why)});
  }
  void skip(std::string name, std::string why) {
    entries.push_back({Outcome::skipped, std::move(name), std::move(why)});
  }
  int count(Outcome outcome) const;
  bool ok() const { return count(Outcome::failed) == 0; }
  // A line an entry (failures only unless `all`), the notes, then "N passed, N failed, N skipped".
  std::string text(bool all) const;
  std::string json() const;
};

}  // namespace lamella::check
