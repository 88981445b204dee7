#include "ipc/json_text.hpp"

#include "config/limits.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace piorch::ipc {

namespace {

using nlohmann::json;

// Builds the document while counting. The library's own parser keeps its state
// in a vector, but destroying, copying and printing a value recurse: so depth is
// bounded here, before a deep value can exist.
class bounded_builder final : public nlohmann::json_sax<json> {
public:
  explicit bounded_builder(json& root) : root_(root) {}

  json_outcome outcome;

  bool null() override { return add(nullptr); }
  bool boolean(bool v) override { return add(v); }
  bool number_integer(number_integer_t v) override { return add(v); }
  bool number_unsigned(number_unsigned_t v) override { return add(v); }
  bool number_float(number_float_t v, const string_t&) override { return add(v); }
  bool string(string_t& v) override { return add(std::move(v)); }
  bool binary(binary_t&) override { return false; } // not in JSON text

  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto& object = *open_.back();
    const auto [at, fresh] = object.get_ref<json::object_t&>().emplace(std::move(name), nullptr);
    if (!fresh)
      return fail(json_fault::duplicate, "the key \"" + at->first + "\" occurs twice");
    slot_ = &at->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    return fail(json_fault::syntax, "not valid JSON (UTF-8) at byte " + std::to_string(position));
  }

private:
  template <class Value> bool add(Value&& value) {
    return place(std::forward<Value>(value)) != nullptr;
  }

  template <class Value> json* place(Value&& value) {
    if (++count_ > limits::json_values) {
      fail(json_fault::too_many,
           "more than " + std::to_string(limits::json_values) + " values in one message");
      return nullptr;
    }
    if (slot_ != nullptr) {
      *slot_ = std::forward<Value>(value);
      return std::exchange(slot_, nullptr);
    }
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    auto& array = open_.back()->get_ref<json::array_t&>();
    array.emplace_back(std::forward<Value>(value));
    return &array.back();
  }

  bool open(json&& container) {
    if (open_.size() >= limits::json_depth)
      return fail(json_fault::too_deep,
                  "nested deeper than " + std::to_string(limits::json_depth) + " levels");
    json* placed = place(std::move(container));
    if (placed == nullptr)
      return false;
    open_.push_back(placed);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool fail(json_fault fault, std::string text) {
    if (outcome.fault == json_fault::none)
      outcome = {fault, std::move(text)};
    return false;
  }

  json& root_;
  std::vector<json*> open_; // stable: an array grows only while it is the innermost
  json* slot_ = nullptr;    // where the value of the last key goes
  std::size_t count_ = 0;
};

} // namespace

json_outcome parse_json(std::string_view text, json& out) {
  out = nullptr;
  bounded_builder builder(out);
  bool ok = false;
  try {
    ok = json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const json::exception&) { // a number out of range ends as one in some versions
    ok = false;
  }
  if (!ok) {
    out = nullptr;
    if (builder.outcome.fault == json_fault::none)
      builder.outcome = {json_fault::syntax, "not valid JSON"};
  }
  return std::move(builder.outcome);
}

std::string write_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_json_string(std::string& out, std::string_view text) {
  for (const char c : text) // the common case: nothing to escape, ASCII
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e || c == '"' ||
        c == '\\') {
      out += write_json(json(std::string(text)));
      return;
    }
  out += '"';
  out += text;
  out += '"';
}

} // namespace piorch::ipc
