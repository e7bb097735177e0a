#pragma once
/// @file
/// Reading of JSON that somebody else wrote. It is read as the published renderer does: keys
/// without regard to case, whole numbers for numbers, 1 for true, numbers in quotes. What that
/// renderer drops in silence is a ProtocolError here.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "propwash/render/messages.hpp"

namespace propwash::render::detail {

using Json = nlohmann::json;

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
  JsonPart(const Json& value, const char* name) : value_(&value), name_(name) {}

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
    if (found == value_->end()) {
      for (found = value_->begin(); found != value_->end(); ++found) {
        if (same_but_for_case(found.key(), key)) break;
      }
    }
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return JsonPart(*found, key, this);
  }
  /// The value of a key; without it, or where it is null, a ProtocolError.
  JsonPart at(const char* key) const {
    const auto found = find(key);
    if (!found) throw ProtocolError(path() + ": has no " + key);
    return *found;
  }
  JsonPart operator[](std::size_t i) const { return JsonPart((*value_)[i], nullptr, this, i); }

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
    if (value_->is_number_integer()) return value_->get<std::int64_t>() != 0;
    if (value_->is_string() && same_but_for_case(value_->get_ref<const std::string&>(), "true")) {
      return true;
    }
    if (!value_->is_string() ||
        !same_but_for_case(value_->get_ref<const std::string&>(), "false")) {
      refuse("true or false");
    }
    return false;
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
    } else if (value_->is_string()) {
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
  double number() const {
    double number = NAN;
    if (value_->is_number()) {
      number = value_->get<double>();
    } else if (value_->is_string()) {
      const auto& text = value_->get_ref<const std::string&>();
      char* end = nullptr;
      const bool plain = !text.empty() && text.size() <= 40 &&
                         text.find_first_not_of("0123456789+-.eE") == std::string::npos;
      if (plain) number = std::strtod(text.c_str(), &end);
      if (!plain || end != text.c_str() + text.size()) number = NAN;
    }
    if (!std::isfinite(number)) refuse("a finite number");
    return number;
  }
  /// The first N numbers of an array; more of them are passed over.
  template <std::size_t N>
  std::array<double, N> numbers() const {
    if (!value_->is_array() || value_->size() < N) refuse(std::to_string(N) + " numbers");
    std::array<double, N> numbers{};
    for (std::size_t i = 0; i < N; ++i) numbers[i] = (*this)[i].number();
    return numbers;
  }

 private:
  JsonPart(const Json& value, const char* name, const JsonPart* parent, std::size_t index = 0)
      : value_(&value), name_(name), parent_(parent), index_(index) {}

  std::string path() const {
    if (parent_ == nullptr) return name_;
    if (name_ == nullptr) return parent_->path() + "[" + std::to_string(index_) + "]";
    return parent_->path() + "." + name_;
  }

  const Json* value_;
  const char* name_;  // of a key; null: an entry of an array
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

/// Parses one frame. Its length and the depth of its nesting are bounded, so that a hostile frame
/// costs no more than some tens of milliseconds.
inline Json parse_json(FrameView frame, const char* name) {
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
    return json;
  } catch (const Json::exception& error) {
    fault(std::string(": not JSON: ") + error.what());
  }
  return {};
}

}  // namespace propwash::render::detail
