// fuzz: guard
// Git's state files, the same bytes as each of them: an index, a reference, a `.git`
// file.
#include "sandbox/guard/git_file.hpp"
#include "sandbox/guard/git_index.hpp"
#include "sandbox/guard/git_state.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>
#include <string>

using namespace piorch::sandbox::guard;

namespace {

bool same_word(const std::string& name, const std::string& lower) {
  if (name.size() != lower.size())
    return false;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (name[i] != lower[i] && name[i] + 32 != lower[i])
      return false;
  return true;
}

void require_inside(const std::string& path) {
  PIORCH_REQUIRE(path.empty() || path[0] != '/');
  std::string component;
  for (const char c : path + "/") {
    if (c != '/') {
      component += c;
      continue;
    }
    PIORCH_REQUIRE(component != ".." && component != "." && !same_word(component, ".git"));
    component.clear();
  }
}

// The entries of an index that was taken, as its format is described and not as we read it:
// nothing is checked but the paths.
void require_paths_inside(const std::string& text, std::size_t id) {
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      n = n << 8 | static_cast<unsigned char>(text.at(at + i));
    return n;
  };
  const bool compressed = number(4, 4) == 4;
  std::size_t at = 12;
  std::string path;
  for (auto left = number(8, 4); left > 0; --left) {
    const auto start = at;
    at += 40 + id;
    at += number(at, 2) & 0x4000 ? 4 : 2;
    if (compressed) {
      std::size_t strip = number(at, 1) & 127;
      while (number(at++, 1) & 128)
        strip = ((strip + 1) << 7) + (number(at, 1) & 127);
      path.resize(start == 12 ? 0 : path.size() - strip);
    } else {
      path.clear();
    }
    for (; text.at(at) != '\0'; ++at)
      path += text[at];
    ++at;
    while (!compressed && (at - start) % 8 != 0)
      ++at;
    require_inside(path);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const bool sha1 = !bad_index(text, 20), sha256 = !bad_index(text, 32);
  PIORCH_REQUIRE(bad_index(text) || sha1 || sha256);
  if (sha1 && size > 0)
    require_paths_inside(text, 20);
  if (sha256 && size > 0)
    require_paths_inside(text, 32);

  if (!bad_ref(text) && text.substr(0, 4) == "ref:")
    require_inside(
        text.substr(text.find("refs/"), text.find_last_not_of(" \t\r\n") + 1 - text.find("refs/")));

  // What is written is read as what it was read as, and leads where it was found to lead.
  git_file first, second;
  if (read_git_file(text, "/w/a/b/c/d", first)) {
    PIORCH_REQUIRE(first.path[0] == '/');
    for (std::size_t at = first.path.find("/."); at != text.npos;
         at = first.path.find("/.", at + 1)) {
      const auto name = first.path.substr(at + 1, first.path.find('/', at + 1) - at - 1);
      PIORCH_REQUIRE(name != "." && name != "..");
    }
    const std::string again = first.text();
    PIORCH_REQUIRE(again.find('\n') == again.size() - 1 && again.find('\0') == again.npos);
    PIORCH_REQUIRE(read_git_file(again, "/w/a/b/c/d", second) && second.path == first.path &&
                   second.levels == first.levels && second.text() == again);
  }

  const bool lock = size >= 5 && text.substr(size - 5) == ".lock";
  PIORCH_REQUIRE(!lock || (!is_index_name(text) && !is_ref_path(text)));
  return 0;
}
