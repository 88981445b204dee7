#include "config/strict_json.hpp"

#include "config/text.hpp"

#include <nlohmann/json.hpp>
#include <vector>

namespace piorch::config {

namespace {

using nlohmann::json;

error at(std::string_view text, std::size_t offset, std::string what) {
  std::size_t line = 1, column = 1;
  for (const char c : text.substr(0, offset)) {
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n';
  }
  return {failure::configuration_invalid,
          "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what};
}

// nlohmann's explanation without its prefix of class, number and place.
std::string explanation(std::string_view what) {
  for (const std::string_view end : {"syntax error while parsing ", "parse error"})
    if (const auto found = what.find(end); found != std::string_view::npos) {
      const auto rest = what.substr(end == "parse error" ? found : found + end.size());
      return "malformed JSON: " + printable(rest, 160);
    }
  return "malformed JSON";
}

// Builds the document. nlohmann's own builder keeps the last of two equal keys,
// so that a reader and piorch could disagree about what a file says.
class strict_builder final : public nlohmann::json_sax<json> {
public:
  explicit strict_builder(std::size_t depth) : depth_(depth) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; } // not a thing of JSON text

  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name)) {
      refusal = "the key " + in_quotes(name) + " is given twice";
      return false;
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    offset = position == 0 ? 0 : position - 1;
    refusal = explanation(e.what());
    return false;
  }

  json root;
  std::string refusal;
  std::size_t offset = std::string_view::npos; // of a syntax error; ours have none

private:
  // The place a new value goes to. Addresses stay valid while something is open:
  // only the innermost container grows.
  template <class T> json* place(T&& value) {
    if (open_.empty())
      return &(root = std::forward<T>(value));
    json& parent = *open_.back();
    if (parent.is_object())
      return &(parent[key_] = std::forward<T>(value));
    parent.push_back(std::forward<T>(value));
    return &parent.back();
  }
  template <class T> bool add(T&& value) {
    place(std::forward<T>(value));
    return true;
  }
  bool open(json container) {
    if (open_.size() == depth_) {
      refusal = "nested deeper than " + std::to_string(depth_) + " levels";
      return false;
    }
    open_.push_back(place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t depth_;
  std::vector<json*> open_;
  std::string key_;
};

} // namespace

result<json> parse_strict_json(std::string_view text, std::size_t depth) {
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    return at(text, 0, "starts with a byte order mark: save the file as UTF-8 without one");
  strict_builder builder(depth);
  if (json::sax_parse(text.begin(), text.end(), &builder))
    return std::move(builder.root);
  if (builder.offset != std::string_view::npos)
    return at(text, builder.offset, builder.refusal);
  return error{failure::configuration_invalid, builder.refusal};
}

} // namespace piorch::config
