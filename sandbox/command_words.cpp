#include "sandbox/command_words.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace piorch::sandbox {

namespace {

constexpr unsigned depth_at_most = 4;
constexpr std::size_t words_at_most = 500;
constexpr std::size_t parts_at_most = 32; // of a path

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The command comes after it.
bool is_prefix(const std::string& word) {
  for (const char* known : {"{", "!", "if", "then", "else", "elif", "while", "until", "do", "exec",
                            "env", "command", "nice", "time", "sudo", "eval"})
    if (word == known)
      return true;
  const auto equals = word.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     is_name_char);
}

// -c, -lc, -ec: the next word is a command
bool is_command_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '-' && word.back() == 'c';
}

class splitter {
public:
  explicit splitter(std::vector<command_word>& out) : out_(out) {}

  // `of`: the program that is given this text and may do anything with it; empty: it is a command.
  void split(const std::string& command, unsigned depth, const std::string& of) {
    std::string word, former, program = of;
    std::vector<std::string> inner;
    bool begun = false;
    char quote = 0;
    const auto finish = [&](bool ends_command) {
      if (begun && out_.size() < words_at_most) {
        out_.push_back({word, program});
        const bool is_command = of.empty() && (is_command_option(former) || former == "eval");
        if (depth < depth_at_most && word.find_first_of(" \t\n;&|()<>'\"`$") != std::string::npos)
          split(word, depth + 1, is_command ? std::string() : program.empty() ? word : program);
        if (program.empty() && !is_prefix(word))
          program = word;
        former = word;
      }
      word.clear();
      begun = false;
      if (ends_command) {
        program = of;
        former.clear();
      }
    };
    for (std::size_t i = 0; i < command.size(); ++i) {
      const char c = command[i];
      if (quote ? c == quote : c == '"' || c == '\'') {
        quote = quote ? char{0} : c;
        begun = true;
      } else if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
        word += command[++i];
        begun = true;
      } else if (quote != '\'' && (c == '$' || c == '`')) {
        i = skip_expansion(command, i, inner);
        word += unknown;
        begun = true;
      } else if (!quote && is_one_of(c, " \t<>")) {
        finish(false);
      } else if (!quote && is_one_of(c, "\n;&|()")) {
        finish(true);
      } else {
        word += c;
        begun = true;
      }
    }
    finish(true);
    if (depth < depth_at_most)
      for (const std::string& one : inner)
        split(one, depth + 1, {});
  }

private:
  // The place of its last character; a command in it goes to `inner`.
  static std::size_t skip_expansion(const std::string& s, std::size_t at,
                                    std::vector<std::string>& inner) {
    const auto until = [&](std::size_t from, std::size_t end) {
      end = std::min(end, s.size());
      return s.substr(from, end - from);
    };
    if (s[at] == '`') {
      const auto end = s.find('`', at + 1);
      inner.push_back(until(at + 1, end));
      return std::min(end, s.size() - 1);
    }
    const char next = at + 1 < s.size() ? s[at + 1] : ' ';
    if (next == '{')
      return std::min(s.find('}', at), s.size() - 1);
    if (next == '(') {
      std::size_t end = at + 2;
      for (unsigned open = 1; end < s.size(); ++end) {
        open += s[end] == '(' ? 1u : 0u;
        if (s[end] == ')' && --open == 0)
          break;
      }
      inner.push_back(until(at + 2, end));
      return std::min(end, s.size() - 1);
    }
    if (!is_name_char(next))
      return is_one_of(next, "@*#?") ? at + 1 : at;
    std::size_t end = at + 1;
    while (end + 1 < s.size() && is_name_char(s[end + 1]))
      ++end;
    return end;
  }

  std::vector<command_word>& out_;
};

} // namespace

std::vector<command_word> words_of(const std::string& command) {
  std::vector<command_word> out;
  splitter(out).split(command.substr(command.rfind("!", 0) == 0 ? 1 : 0), 0, {});
  return out;
}

std::vector<std::string> names_in(const std::string& word) {
  std::vector<std::string> out;
  const auto known_from = word.rfind(unknown);
  if (known_from == std::string::npos) {
    out.push_back(word);
    if (const auto equals = word.find('='); equals != std::string::npos)
      out.push_back(word.substr(equals + 1));
  } else {
    for (auto at = word.find('/', known_from);
         at != std::string::npos && out.size() < parts_at_most; at = word.find('/', at + 1))
      out.push_back(word.substr(at + 1));
  }
  out.erase(std::remove(out.begin(), out.end(), std::string()), out.end());
  return out;
}

} // namespace piorch::sandbox
