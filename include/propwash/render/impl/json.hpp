#pragma once
/// @file
/// Reads JSON from other programs. Every value is checked for type and range; a ProtocolError names
/// the place in the message.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "propwash/render/messages.hpp"

namespace propwash::render::detail {

using Json = nlohmann::json;

/// The accepted variants of JSON.
enum class Reading {
  strict,    ///< for answers: exact keys, each once; JSON numbers, true and false
  published  ///< for poses, like the published renderer: keys in any case, the last of duplicates,
             ///< quoted numbers and booleans, integers as booleans, longer vectors
};

inline bool equals_ignoring_case(const std::string& a, const char* b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::size_t i = 0;
  for (; i < a.size() && b[i] != '\0'; ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return i == a.size() && b[i] == '\0';
}

/// A value of a message and its path, which is composed only for an error. A part must not outlive
/// its parent.
class JsonPart {
 public:
  JsonPart(const Json& value, const char* name, Reading reading)
      : value_(&value), name_(name), reading_(reading) {}

  [[noreturn]] void refuse(const std::string& expected) const {
    const std::string received =
        value_->is_structured()
            ? std::string(value_->type_name()) + " of " + std::to_string(value_->size())
            : value_->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
    fail(expected, received);
  }
  [[noreturn]] void fail(const std::string& expected, const std::string& received) const {
    throw ProtocolError(path() + ": expected " + expected + ", got " + received);
  }

  /// The value of a key, or nothing if it is absent or null.
  std::optional<JsonPart> find(const char* key) const {
    if (!value_->is_object()) refuse("an object");
    auto found = value_->find(key);
    if (found == value_->end() && lenient()) {
      for (found = value_->begin(); found != value_->end(); ++found) {
        if (equals_ignoring_case(found.key(), key)) break;
      }
    }
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return JsonPart(*found, key, *this);
  }
  /// The value of a key.
  /// @throws ProtocolError if it is absent or null.
  JsonPart at(const char* key) const {
    const auto found = find(key);
    if (!found) throw ProtocolError(path() + ": has no " + key);
    return *found;
  }
  JsonPart operator[](std::size_t i) const { return JsonPart((*value_)[i], nullptr, *this, i); }

  /// The number of entries of an array.
  std::size_t count(std::size_t max) const {
    if (!value_->is_array()) refuse("an array");
    if (value_->size() > max) {
      throw ProtocolError(path() + ": expected at most " + std::to_string(max) + " entries, got " +
                          std::to_string(value_->size()));
    }
    return value_->size();
  }
  std::string text() const {
    if (!value_->is_string()) refuse("a string");
    return value_->get<std::string>();
  }
  bool flag() const {
    if (value_->is_boolean()) return value_->get<bool>();
    if (lenient() && value_->is_number_integer()) return value_->get<std::int64_t>() != 0;
    if (lenient() && value_->is_string()) {
      const auto& text = value_->get_ref<const std::string&>();
      if (equals_ignoring_case(text, "true")) return true;
      if (equals_ignoring_case(text, "false")) return false;
    }
    refuse("true or false");
  }
  std::int64_t integer(std::int64_t min, std::int64_t max) const {
    std::int64_t number = 0;
    bool is_valid = false;
    if (value_->is_number_unsigned()) {
      const auto big = value_->get<std::uint64_t>();
      is_valid = big <= static_cast<std::uint64_t>(INT64_MAX);
      number = static_cast<std::int64_t>(big);
    } else if (value_->is_number_integer()) {
      number = value_->get<std::int64_t>();
      is_valid = true;
    } else if (lenient() && value_->is_string()) {
      const auto& text = value_->get_ref<const std::string&>();
      is_valid = !text.empty() && text.size() <= 20 &&
                 text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos;
      errno = 0;
      number = std::strtoll(text.c_str(), nullptr, 10);
      is_valid = is_valid && errno == 0 && text != "-";
    }
    if (!is_valid || number < min || number > max) {
      refuse("a whole number, " + std::to_string(min) + " to " + std::to_string(max));
    }
    return number;
  }
  double number(double min = -std::numeric_limits<double>::infinity()) const {
    double number = std::numeric_limits<double>::quiet_NaN();
    if (value_->is_number()) {
      number = value_->get<double>();
    } else if (lenient() && value_->is_string()) {
      const auto& text = value_->get_ref<const std::string&>();
      char* end = nullptr;
      const bool plain = !text.empty() && text.size() <= 40 &&
                         text.find_first_not_of("0123456789+-.eE") == std::string::npos;
      if (plain) number = std::strtod(text.c_str(), &end);
      if (!plain || end != text.c_str() + text.size())
        number = std::numeric_limits<double>::quiet_NaN();
    }
    if (!std::isfinite(number)) refuse("a finite number");
    if (number < min) {
      std::ostringstream expected;
      expected << "a finite number, at least " << min;
      refuse(expected.str());
    }
    return number;
  }
  /// An array of N numbers; for poses, the first N of a longer one.
  template <std::size_t N>
  std::array<double, N> numbers() const {
    const bool enough = value_->is_array() && value_->size() >= N;
    if (!enough || (!lenient() && value_->size() > N)) refuse(std::to_string(N) + " numbers");
    std::array<double, N> numbers{};
    for (std::size_t i = 0; i < N; ++i) numbers[i] = (*this)[i].number();
    return numbers;
  }

 private:
  JsonPart(const Json& value, const char* name, const JsonPart& parent, std::size_t index = 0)
      : value_(&value), name_(name), reading_(parent.reading_), parent_(&parent), index_(index) {}

  bool lenient() const { return reading_ == Reading::published; }

  std::string path() const {
    if (parent_ == nullptr) return name_;
    if (name_ == nullptr) return parent_->path() + "[" + std::to_string(index_) + "]";
    return parent_->path() + "." + name_;
  }

  const Json* value_;
  const char* name_;  // the key; null: an array entry
  Reading reading_;
  const JsonPart* parent_ = nullptr;
  std::size_t index_ = 0;
};

/// The nesting depth of arrays and objects in a JSON text.
inline int nesting(const char* text, std::size_t size) {
  int depth = 0;
  int max_depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < size; ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      max_depth = std::max(max_depth, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return max_depth;
}

/// Finds a duplicate key of an object, of which parsers silently keep the first or the last. A
/// separate pass, because the parser's callback takes quadratic time in the number of objects.
class DuplicateKeys : public nlohmann::json_sax<Json> {
 public:
  std::string duplicate;  ///< the first one found

  bool start_object(std::size_t) override {
    open_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (open_.back().insert(name).second) return true;
    duplicate = name;
    return false;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  std::vector<std::set<std::string>> open_;  // keys of the objects that are still open
};

/// Parses one frame of limited length and nesting depth. The time is proportional to the length:
/// the worst frames of 4 MiB take less than a second.
inline Json parse_json(FrameView frame, const char* name, Reading reading) {
  const auto fail = [&](const std::string& text) { throw ProtocolError(std::string(name) + text); };
  if (frame.size > max_json_bytes) {
    fail(": expected at most " + std::to_string(max_json_bytes) + " bytes of JSON, got " +
         std::to_string(frame.size));
  }
  if (frame.size == 0) fail(": expected JSON, got an empty frame");
  const auto* begin = static_cast<const char*>(frame.data);
  if (nesting(begin, frame.size) > max_json_depth) {
    fail(": nested deeper than " + std::to_string(max_json_depth) + " arrays and objects");
  }
  try {
    Json json = Json::parse(begin, begin + frame.size);
    if (!json.is_object()) fail(": expected a JSON object");
    DuplicateKeys keys;
    if (reading == Reading::strict && !Json::sax_parse(begin, begin + frame.size, &keys)) {
      fail(": expected each key of an object once, got \"" + keys.duplicate.substr(0, 60) +
           "\" twice");
    }
    return json;
  } catch (const Json::exception& error) {
    fail(std::string(": not JSON: ") + error.what());
  }
  return {};
}

}  // namespace propwash::render::detail
