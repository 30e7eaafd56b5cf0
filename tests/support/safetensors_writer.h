// Builds safetensors files in memory for tests.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "lamella/base/text.h"

namespace lamella::test {

class SafetensorsWriter {
 public:
  using Bytes = std::vector<uint8_t>;

  SafetensorsWriter& add(const std::string& name, const std::string& dtype,
                         const std::vector<int64_t>& shape, const Bytes& bytes) {
    const size_t begin = data_.size();
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    return add_raw('"' + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + join(shape, ",") +
                   "],\"data_offsets\":[" + std::to_string(begin) + ',' +
                   std::to_string(data_.size()) + "]}");
  }
  // A part of the header as it is.
  SafetensorsWriter& add_raw(const std::string& entry) {
    header_ += (header_.empty() ? "" : ",") + entry;
    return *this;
  }
  SafetensorsWriter& add_data(size_t n) {
    data_.resize(data_.size() + n);
    return *this;
  }

  Bytes bytes() const { return with_header("{" + header_ + "}"); }
  Bytes with_header(std::string header) const {
    while (header.size() % 8 != 0) header += ' ';
    Bytes out;
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<uint8_t>(header.size() >> 8 * i));
    out.insert(out.end(), header.begin(), header.end());
    out.insert(out.end(), data_.begin(), data_.end());
    return out;
  }
  void write(const std::string& path) const {
    const Bytes all = bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  }

 private:
  std::string header_;
  Bytes data_;
};

}  // namespace lamella::test
