#pragma once
/// @file
/// Reading of JSON from other programs. Every value is checked for type and range; what does not
/// fit is a ProtocolError that names the place in the message.

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

/// Which spellings are accepted.
enum class Reading {
  strict,    ///< of answers: exact keys, each once; JSON numbers, true and false
  published  ///< of poses, as the published renderer reads: keys in any case, the last of equal
             ///< ones, numbers and booleans in quotes, whole numbers for booleans, longer vectors
};

inline bool same_but_for_case(const std::string& a, const char* b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::size_t i = 0;
  for (; i < a.size() && b[i] != '\0'; ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return i == a.size() && b[i] == '\0';
}

/// A value of a message and where in it, for complaints. The place is spelt out only where it is
/// complained of, so a part must not outlive the part that it was taken from.
class JsonPart {
 public:
  JsonPart(const Json& value, const char* name, Reading reading)
      : value_(&value), name_(name), reading_(reading) {}

  [[noreturn]] void refuse(const std::string& expected) const {
    const std::string came =
        value_->is_structured()
            ? std::string(value_->type_name()) + " of " + std::to_string(value_->size())
            : value_->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
    fail(expected, came);
  }
  [[noreturn]] void fail(const std::string& expected, const std::string& came) const {
    throw ProtocolError(path() + ": expected " + expected + ", got " + came);
  }

  /// The value of a key, or nothing where it is absent or null.
  std::optional<JsonPart> find(const char* key) const {
    if (!value_->is_object()) refuse("an object");
    auto found = value_->find(key);
    if (found == value_->end() && lenient()) {
      for (found = value_->begin(); found != value_->end(); ++found) {
        if (same_but_for_case(found.key(), key)) break;
      }
    }
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return JsonPart(*found, key, *this);
  }
  /// The value of a key; without it, or where it is null, a ProtocolError.
  JsonPart at(const char* key) const {
    const auto found = find(key);
    if (!found) throw ProtocolError(path() + ": has no " + key);
    return *found;
  }
  JsonPart operator[](std::size_t i) const { return JsonPart((*value_)[i], nullptr, *this, i); }

  /// The number of entries of an array.
  std::size_t count(std::size_t most) const {
    if (!value_->is_array()) refuse("an array");
    if (value_->size() > most) {
      throw ProtocolError(path() + ": expected at most " + std::to_string(most) + " entries, got " +
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
      if (same_but_for_case(text, "true")) return true;
      if (same_but_for_case(text, "false")) return false;
    }
    refuse("true or false");
  }
  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    std::int64_t number = 0;
    bool good = false;
    if (value_->is_number_unsigned()) {
      const auto big = value_->get<std::uint64_t>();
      good = big <= static_cast<std::uint64_t>(INT64_MAX);
      number = static_cast<std::int64_t>(big);
    } else if (value_->is_number_integer()) {
      number = value_->get<std::int64_t>();
      good = true;
    } else if (lenient() && value_->is_string()) {
      const auto& text = value_->get_ref<const std::string&>();
      good = !text.empty() && text.size() <= 20 &&
             text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos;
      errno = 0;
      number = std::strtoll(text.c_str(), nullptr, 10);
      good = good && errno == 0 && text != "-";
    }
    if (!good || number < least || number > most) {
      refuse("a whole number, " + std::to_string(least) + " to " + std::to_string(most));
    }
    return number;
  }
  double number(double least = -std::numeric_limits<double>::infinity()) const {
    double number = NAN;
    if (value_->is_number()) {
      number = value_->get<double>();
    } else if (lenient() && value_->is_string()) {
      const auto& text = value_->get_ref<const std::string&>();
      char* end = nullptr;
      const bool plain = !text.empty() && text.size() <= 40 &&
                         text.find_first_not_of("0123456789+-.eE") == std::string::npos;
      if (plain) number = std::strtod(text.c_str(), &end);
      if (!plain || end != text.c_str() + text.size()) number = NAN;
    }
    if (!std::isfinite(number)) refuse("a finite number");
    if (number < least) {
      std::ostringstream expected;
      expected << "a finite number, at least " << least;
      refuse(expected.str());
    }
    return number;
  }
  /// An array of N numbers; of a pose, the first N of at least as many.
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
  const char* name_;  // of a key; null: an entry of an array
  Reading reading_;
  const JsonPart* parent_ = nullptr;
  std::size_t index_ = 0;
};

/// How deep the arrays and objects of a text are nested, where it is JSON as far as it goes.
inline int nesting(const char* text, std::size_t size) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < size; ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

/// Finds a key that comes twice in an object. A parser keeps one of the two values without notice,
/// and which one differs between parsers. A pass over the text, as the parser's own callback takes
/// a time that is quadratic in the number of objects.
class DuplicateKeys : public nlohmann::json_sax<Json> {
 public:
  std::string duplicate;  ///< the first one

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
  std::vector<std::set<std::string>> open_;  // keys of the objects that have not ended
};

/// Parses one frame. Its length and the depth of its nesting are bounded, and the time grows with
/// the length: the worst frames of 4 MiB take less than a second.
inline Json parse_json(FrameView frame, const char* name, Reading reading) {
  const auto fault = [&](const std::string& what) {
    throw ProtocolError(std::string(name) + what);
  };
  if (frame.size > longest_json) {
    fault(": expected at most " + std::to_string(longest_json) + " bytes of JSON, got " +
          std::to_string(frame.size));
  }
  if (frame.size == 0) fault(": expected JSON, got an empty frame");
  const auto* begin = static_cast<const char*>(frame.data);
  if (nesting(begin, frame.size) > deepest_json) {
    fault(": nested deeper than " + std::to_string(deepest_json) + " arrays and objects");
  }
  try {
    Json json = Json::parse(begin, begin + frame.size);
    if (!json.is_object()) fault(": expected a JSON object");
    DuplicateKeys keys;
    if (reading == Reading::strict && !Json::sax_parse(begin, begin + frame.size, &keys)) {
      fault(": expected each key of an object once, got \"" + keys.duplicate.substr(0, 60) +
            "\" twice");
    }
    return json;
  } catch (const Json::exception& error) {
    fault(std::string(": not JSON: ") + error.what());
  }
  return {};
}

}  // namespace propwash::render::detail
