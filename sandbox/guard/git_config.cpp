#include "sandbox/guard/git_config.hpp"

namespace piorch::sandbox::guard {

namespace {

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_key(char c) { return is_alpha(c) || (c >= '0' && c <= '9') || c == '-'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

class reader {
public:
  explicit reader(std::string_view text) : text_(text) {}

  bool read(std::vector<config_entry>& out) {
    if (text_.substr(0, 3) == "\xef\xbb\xbf")
      at_ = 3;
    for (;;) {
      skip_blanks();
      if (done())
        return true;
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
      } else if (c == '#' || c == ';') {
        skip_line();
      } else if (c == '[') {
        if (!header())
          return false;
      } else if (is_alpha(c) && !section_.empty()) {
        config_entry e;
        e.section = section_;
        e.subsection = subsection_;
        if (!entry(e) || out.size() == entries_at_most)
          return false;
        out.push_back(std::move(e));
      } else {
        return false;
      }
    }
  }

private:
  static constexpr std::size_t entries_at_most = 20000;

  bool done() const { return at_ == text_.size(); }
  bool line_end() const {
    return done() || text_[at_] == '\n' || (text_[at_] == '\r' && next() == '\n');
  }
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\n'; }
  void skip_blanks() {
    while (!done() && (is_blank(text_[at_]) || (text_[at_] == '\r' && next() == '\n')))
      ++at_;
  }
  void skip_line() {
    while (!done() && text_[at_] != '\n')
      ++at_;
  }

  bool header() {
    section_.clear();
    subsection_.clear();
    ++at_;
    while (!done() && (is_key(text_[at_]) || text_[at_] == '.'))
      section_ += lower(text_[at_++]);
    if (section_.empty() || done())
      return false;
    if (text_[at_] == ']') {
      ++at_;
      // The old form: everything behind the first dot is the subsection.
      if (const auto dot = section_.find('.'); dot != std::string::npos) {
        subsection_ = section_.substr(dot + 1);
        section_.resize(dot);
      }
      return !section_.empty();
    }
    if (section_.find('.') != std::string::npos) {
      const auto dot = section_.find('.'); // [a.b "c"]: Git joins them
      subsection_ = section_.substr(dot + 1) + '.';
      section_.resize(dot);
    }
    if (!is_blank(text_[at_]))
      return false;
    while (!done() && is_blank(text_[at_]))
      ++at_;
    if (done() || text_[at_++] != '"')
      return false;
    for (;; ++at_) {
      if (done() || text_[at_] == '\n')
        return false;
      char c = text_[at_];
      if (c == '"')
        break;
      if (c == '\\') {
        if (++at_ == text_.size() || text_[at_] == '\n')
          return false;
        c = text_[at_];
      }
      subsection_ += c;
    }
    ++at_;
    if (done() || text_[at_] != ']')
      return false;
    ++at_;
    return !section_.empty();
  }

  bool entry(config_entry& e) {
    while (!done() && is_key(text_[at_]))
      e.key += lower(text_[at_++]);
    while (!done() && is_blank(text_[at_]))
      ++at_;
    if (line_end()) {
      skip_line();
      return true;
    }
    if (text_[at_] != '=')
      return false; // Git refuses anything else here, a comment too
    ++at_;
    e.has_value = true;
    return value(e.value);
  }

  bool value(std::string& out) {
    bool quoted = false;
    std::size_t keep = 0; // blanks at the end are not part of the value
    while (!done() && is_blank(text_[at_]))
      ++at_;
    for (;;) {
      if (line_end()) {
        skip_line();
        out.resize(keep);
        return !quoted;
      }
      const char c = text_[at_++];
      if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        out.resize(keep);
        return true;
      }
      if (c == '"') {
        quoted = !quoted;
        keep = out.size();
      } else if (c == '\\') {
        if (!escape(out))
          return false;
        keep = out.size();
      } else {
        out += c;
        if (quoted || !is_blank(c))
          keep = out.size();
      }
    }
  }

  bool escape(std::string& out) {
    if (!done() && text_[at_] == '\r' && next() == '\n')
      ++at_;
    if (done())
      return false;
    switch (text_[at_++]) {
      case '\n':
        return true; // the value goes on in the next line
      case 't':
        out += '\t';
        return true;
      case 'b':
        out += '\b';
        return true;
      case 'n':
        out += '\n';
        return true;
      case '\\':
        out += '\\';
        return true;
      case '"':
        out += '"';
        return true;
      default:
        return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_, subsection_;
};

} // namespace

std::string config_entry::name() const {
  return section + (subsection.empty() ? "" : "." + subsection) + "." + key;
}

bool parse_config(std::string_view text, std::vector<config_entry>& out) {
  out.clear();
  if (text.size() > config_bytes_at_most)
    return false;
  // Nothing that Git or a terminal might read differently from us: control
  // characters other than tab and line ends.
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool line_end = c == '\n' || (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if ((c < 0x20 && c != '\t' && !line_end) || c == 0x7f)
      return false;
  }
  return reader(text).read(out);
}

} // namespace piorch::sandbox::guard
