// Reads the fields of a JSON object and remembers the first thing that is wrong,
// in words for the sender. Private to protocol.cpp's files.
#pragma once

#include "config/result.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::ipc {

// The other direction: what is not there is not written.
template <class T> void put(nlohmann::json& out, const char* name, const std::optional<T>& value) {
  if (value)
    out[name] = *value;
}

class fields {
public:
  // `where` prefixes field names in errors ("client.").
  explicit fields(const nlohmann::json& object, std::string where = {})
      : object_(object), where_(std::move(where)) {
    if (!object.is_object())
      fail("", "an object");
  }

  bool failed() const noexcept { return !error_.empty(); }
  error failure_of() const { return {failure::usage, error_}; }
  void fail(std::string_view name, std::string_view accepted) {
    if (!error_.empty())
      return;
    std::string field = where_ + std::string(name);
    if (!field.empty() && field.back() == '.')
      field.pop_back();
    error_ = (field.empty() ? std::string("params") : "\"" + field + "\"") + " must be " +
             std::string(accepted);
  }
  void fail_with(std::string text) {
    if (error_.empty())
      error_ = std::move(text);
  }
  // Takes over what a nested reader found wrong.
  void absorb(const fields& nested) {
    if (nested.failed())
      fail_with(nested.error_);
  }

  const nlohmann::json* find(const char* name) {
    known_.push_back(name);
    if (!object_.is_object())
      return nullptr;
    const auto at = object_.find(name);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  const nlohmann::json* need(const char* name, std::string_view accepted) {
    const auto* value = find(name);
    if (value == nullptr)
      fail(name, accepted);
    return value;
  }

  // Every string of the protocol ends up in a C string or a file name somewhere.
  bool is_text(const nlohmann::json& value) const {
    return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
  }

  std::string text(const char* name) { return take_text(name, need(name, text_rule), text_rule); }
  std::optional<std::string> maybe_text(const char* name) {
    const auto* value = find(name);
    return value ? std::optional(take_text(name, value, text_rule)) : std::nullopt;
  }
  std::string id(const char* name) {
    std::string v = take_text(name, need(name, id_rule), id_rule);
    if (v.empty() || v.size() > 256)
      fail(name, id_rule);
    return v;
  }
  std::string path(const char* name) { return take_path(name, need(name, path_rule)); }
  std::optional<std::string> maybe_path(const char* name) {
    const auto* value = find(name);
    return value ? std::optional(take_path(name, value)) : std::nullopt;
  }
  bool flag(const char* name) {
    const auto* value = find(name);
    if (value && !value->is_boolean())
      fail(name, "true or false");
    return value && value->is_boolean() && value->get<bool>();
  }
  std::uint64_t count(const char* name, std::uint64_t most = UINT64_MAX) {
    const auto* value = find(name);
    return value ? take_count(name, *value, most) : 0;
  }
  double real(const char* name) {
    const auto* value = find(name);
    if (value && !value->is_number())
      fail(name, "a number");
    return value && value->is_number() ? value->get<double>() : 0;
  }
  std::optional<int> maybe_int(const char* name) {
    const auto* value = find(name);
    if (value == nullptr)
      return std::nullopt;
    if (!value->is_number_integer() || value->get<std::int64_t>() > INT32_MAX ||
        value->get<std::int64_t>() < INT32_MIN) {
      fail(name, "a whole number");
      return std::nullopt;
    }
    return value->get<int>();
  }
  // Seconds, fractions allowed.
  std::optional<std::chrono::milliseconds> maybe_seconds(const char* name) {
    const auto* value = find(name);
    if (value == nullptr)
      return std::nullopt;
    const double seconds = value->is_number() ? value->get<double>() : 0;
    if (!(seconds > 0) || seconds > longest_seconds) {
      fail(name, "a number of seconds above 0 and at most 31536000 (a year)");
      return std::nullopt;
    }
    return std::chrono::milliseconds(
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(seconds * 1000))));
  }
  std::optional<std::vector<std::string>> maybe_texts(const char* name) {
    const auto* value = find(name);
    if (value == nullptr)
      return std::nullopt;
    std::vector<std::string> out;
    bool good = value->is_array();
    if (good)
      for (const auto& item : *value) {
        good = good && is_text(item);
        if (good)
          out.push_back(item.get<std::string>());
      }
    if (!good)
      fail(name, "an array of strings without NUL");
    return out;
  }
  std::optional<std::map<std::string, std::string>> maybe_environment(const char* name) {
    const auto* value = find(name);
    if (value == nullptr)
      return std::nullopt;
    std::map<std::string, std::string> out;
    bool good = value->is_object();
    if (good)
      for (const auto& [key, item] : value->items()) {
        good = good && is_text(item) && !key.empty() && key.find('=') == std::string::npos &&
               key.find('\0') == std::string::npos;
        if (good)
          out.emplace(key, item.get<std::string>());
      }
    if (!good)
      fail(name, "an object of variable names (not empty, without \"=\") and strings without NUL");
    return out;
  }
  std::string one_of(const char* name, std::initializer_list<const char*> words) {
    const auto* value = find(name);
    std::string accepted;
    for (const char* word : words) {
      if (value && value->is_string() && *value == word)
        return word;
      accepted += accepted.empty() ? "\"" : ", \"";
      accepted += std::string(word) + "\"";
    }
    fail(name, words.size() == 1 ? accepted : "one of " + accepted);
    return {};
  }

  // Last: anything that was not asked for is refused, so that a misspelt or newer
  // field is never silently ignored.
  void no_others() {
    if (!object_.is_object())
      return;
    for (const auto& [key, value] : object_.items()) {
      bool known = false;
      for (const char* name : known_)
        known = known || key == name;
      if (known)
        continue;
      std::string accepted;
      for (const char* name : known_)
        accepted += (accepted.empty() ? "" : ", ") + std::string(name);
      fail_with("unknown field \"" + where_ + key +
                "\"; accepted: " + (accepted.empty() ? std::string("none") : accepted));
    }
  }

private:
  static constexpr const char* text_rule = "a string without NUL";
  static constexpr const char* id_rule = "a string of 1 to 256 bytes without NUL";
  static constexpr const char* path_rule = "an absolute path";
  static constexpr double longest_seconds = 31536000;

  std::string take_text(const char* name, const nlohmann::json* value, std::string_view rule) {
    if (value == nullptr)
      return {};
    if (is_text(*value))
      return value->get<std::string>();
    fail(name, rule);
    return {};
  }
  std::string take_path(const char* name, const nlohmann::json* value) {
    std::string v = take_text(name, value, path_rule);
    if (value && (v.empty() || v.front() != '/'))
      fail(name, path_rule);
    return v;
  }
  std::uint64_t take_count(const char* name, const nlohmann::json& value, std::uint64_t most) {
    const bool whole =
        value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (whole && value.get<std::uint64_t>() <= most)
      return value.get<std::uint64_t>();
    fail(name, most == UINT64_MAX ? std::string("a whole number from 0")
                                  : "a whole number from 0 to " + std::to_string(most));
    return 0;
  }

  const nlohmann::json& object_;
  std::string where_;
  std::string error_;
  std::vector<const char*> known_;
};

} // namespace piorch::ipc
