#include "sandbox/guard/git_state.hpp"

#include "sandbox/guard/git_paths.hpp"

namespace piorch::sandbox::guard {

namespace {

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

bool ends(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}

// Git's own isspace(), which no locale changes.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The size of the id that the text begins with: as many digits as there are, or 0.
std::size_t id_size(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && n <= 64 &&
         (is_digit(text[n]) || (text[n] >= 'a' && text[n] <= 'f') ||
          (text[n] >= 'A' && text[n] <= 'F')))
    ++n;
  return n == 40 || n == 64 ? n : 0;
}

std::string_view last_component(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool below_refs(std::string_view path) {
  return begins(path, "refs/") || path.find("/refs/") != std::string_view::npos;
}

bool is_ref_name(std::string_view name) {
  if (!begins(name, "refs/"))
    return false;
  for (const char c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f ||
        std::string_view("\\~^:?*[").find(c) != std::string_view::npos)
      return false;
  for (std::string_view rest = name;;) {
    const auto slash = rest.find('/');
    const auto component = rest.substr(0, slash);
    if (component.empty() || component == "." || component == ".." ||
        is_taken_for_dot_git(component) || ends(component, ".lock"))
      return false;
    if (slash == std::string_view::npos)
      return true;
    rest.remove_prefix(slash + 1);
  }
}

} // namespace

bool is_index_name(std::string_view path) {
  const auto name = last_component(path);
  if (ends(name, ".lock") || (name != "index" && !begins(name, "sharedindex.")))
    return false;
  return begins(path, "svn/") || !below_refs(path); // a branch may have this name
}

bool is_ref_path(std::string_view path) {
  if (ends(path, ".lock") || begins(path, "logs/") || begins(path, "svn/"))
    return false;
  const auto name = last_component(path);
  if (name == "FETCH_HEAD" || name == "MERGE_HEAD")
    return below_refs(path);
  return below_refs(path) || name == "HEAD" || ends(name, "_HEAD") || name == "AUTO_MERGE" ||
         name == "BISECT_EXPECTED_REV" || name == "MERGE_AUTOSTASH" ||
         name == "NOTES_MERGE_PARTIAL" || name == "NOTES_MERGE_REF";
}

const char* bad_ref(std::string_view bytes) {
  // The second is what stands in refs/heads where references are kept in tables.
  if (bytes.empty() || bytes == "this repository uses the reftable format\n")
    return nullptr;
  while (!bytes.empty() && is_space(bytes.back()))
    bytes.remove_suffix(1);
  if (begins(bytes, "ref:")) {
    bytes.remove_prefix(4);
    while (!bytes.empty() && is_space(bytes.front()))
      bytes.remove_prefix(1);
    return is_ref_name(bytes) ? nullptr : "git reference: a symbolic one that leads outside refs/";
  }
  return id_size(bytes) == bytes.size() && !bytes.empty()
             ? nullptr
             : "git reference: neither an object id nor a name";
}

} // namespace piorch::sandbox::guard
