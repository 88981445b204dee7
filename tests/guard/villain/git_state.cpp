// Ways to have the host's Git believe an index, a reference or a list of conflicts that leads it
// outside the work tree at its next checkout or commit.
#include "git.hpp"

namespace villain {

namespace {

constexpr const char* outside = "ref: refs/heads/../../../../planted\n";

// Version 2, one entry.
std::string forged_index() {
  const std::string path = "../planted";
  std::string out("DIRC\0\0\0\2\0\0\0\1", 12);
  std::string entry(62, '\0');
  entry[24 + 2] = '\x81'; // an ordinary file
  entry[24 + 3] = '\xa4';
  entry[61] = static_cast<char>(path.size());
  entry += path;
  entry.append(8 - entry.size() % 8, '\0');
  return out + entry + std::string(20, '\0');
}

// One of SHA-256; read with ids of SHA-1 its first path is /planted.
std::string index_of_two_formats() {
  std::string out("DIRC\0\0\0\2\0\0\0\2", 12);
  for (const char name : {'a', 'b'}) {
    std::string entry(72, '\0');
    entry[24 + 2] = '\x81';
    entry[24 + 3] = '\xa4';
    entry.replace(40, 32, 32, '\2'); // the id
    out += entry + std::string("\0\1", 2) + name + std::string(5, '\0');
  }
  const std::string path("\0\x08/planted\0", 11);
  return out.replace(12 + 40 + 20, path.size(), path) + std::string(32, '\0');
}
void by_lock(const std::string& file, const std::string& text) {
  write_file(file + ".lock", text);
  ::rename((file + ".lock").c_str(), file.c_str());
}
void over(const std::string& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT, 0644);
  if (fd < 0 || ::ftruncate(fd, 0) != 0 || ::write(fd, text.data(), text.size()) < 0)
    std::perror(file.c_str());
  ::close(fd);
}
void make_cache(const std::string& at) {
  ::mkdir((at + "/rr-cache").c_str(), 0755);
  ::mkdir((at + "/rr-cache/aa").c_str(), 0755);
}
void make_bare(const std::string& at) {
  ::mkdir((at + "/objects").c_str(), 0755);
  ::mkdir((at + "/refs").c_str(), 0755);
}

} // namespace

void add_git_state_attacks(std::vector<attack>& list) {
  const auto add = [&](const char* name, void (*run)(const std::string&)) {
    add_git_attack(list, name, run);
  };
  add("work-tree-moved-aside", [](auto&) {
    shell("git -C repo worktree add -q ../tree; mkdir repo/.git/foo");
    ::rename("repo/.git/worktrees/tree", "repo/.git/foo/tree");
    ::unlink("repo/.git/foo/tree/index");
    write_file("repo/.git/foo/tree/index", forged_index());
  });
  add("work-trees-moved-aside", [](auto&) {
    shell("git -C repo worktree add -q ../tree");
    ::rename("repo/.git/worktrees", "repo/.git/others");
    write_file("repo/.git/others/tree/index.lock", forged_index());
    ::rename("repo/.git/others/tree/index.lock", "repo/.git/others/tree/index");
  });
  for (const char* name : {"refs", "worktrees", "t1234567", "hooks"})
    list.push_back({std::string("git-trial-link-called-") + name,
                    [](const std::string& link) {
                      const std::string at = "repo/.git/" + link;
                      ::rename(at.c_str(), "repo/.git/testing");
                      ::mkdir("repo/.git/testing", 0755);
                      ::symlink("testing", at.c_str());
                    },
                    name});
  add("trial-link-renamed", [](auto&) {
    ::mkdir("repo/.git/testing", 0755);
    ::symlink("testing", "repo/.git/tABCDEF");
    ::rename("repo/.git/tABCDEF", "repo/.git/worktrees");
  });
  add("made-among-references", [](auto&) {
    shell("mkdir -p g/objects g/refs/heads/inner/objects g/refs/heads/inner/refs/heads sub");
    write_file("g/refs/heads/inner/HEAD", "ref: refs/heads/m\n");
    write_file("g/refs/heads/inner/config", std::string(40, 'a') + "\n" + evil);
    shell("sleep 0.1; mv g/refs/heads/inner sub/.git");
  });
  add("commondir-among-references", [](auto&) {
    shell("mkdir -p g/objects g/refs/heads/w");
    write_file("g/refs/heads/w/commondir", std::string(40, 'a') + "\n");
    shell("sleep 0.1; mv g/refs/heads/w w");
  });
  add("references-moved-in", [](auto&) {
    shell("mkdir -p repo/.git/r/heads");
    write_file("repo/.git/r/heads/x", outside);
    shell("rm -r repo/.git/refs; mv repo/.git/r repo/.git/refs");
  });
  add("index-by-lock", [](auto&) { by_lock("repo/.git/index", forged_index()); });
  add("index-written", [](auto&) { over("repo/.git/index", forged_index()); });
  add("index-anew", [](auto&) {
    ::unlink("repo/.git/index");
    write_file("repo/.git/index", forged_index());
  });
  add("index-moved-in", [](auto&) {
    write_file("i", forged_index());
    ::rename("i", "repo/.git/index");
  });
  add("index-linked-in", [](auto&) {
    write_file("i", forged_index());
    ::unlink("repo/.git/index");
    ::link("i", "repo/.git/index");
  });
  add("index-shared", [](auto&) {
    write_file("repo/.git/sharedindex_X", forged_index());
    ::rename("repo/.git/sharedindex_X", "repo/.git/sharedindex.aaaa");
  });
  add("index-written-after-its-rename", [](auto&) {
    const int fd = ::open("repo/.git/index.lock", O_RDWR | O_CREAT, 0644);
    ::rename("repo/.git/index.lock", "repo/.git/index");
    const auto text = forged_index();
    if (::write(fd, text.data(), text.size()) < 0)
      std::perror("write");
    ::close(fd);
  });
  add("index-before-it-becomes-one", [](auto&) {
    ::mkdir("b", 0755);
    write_file("b/index", forged_index());
    make_bare("b");
  });
  add("index-open-while-it-becomes-one", [](auto&) {
    ::mkdir("b", 0755);
    const int fd = ::open("b/index", O_RDWR | O_CREAT, 0644);
    make_bare("b");
    const auto text = forged_index();
    if (::write(fd, text.data(), text.size()) < 0)
      std::perror("write");
    ::close(fd);
  });
  add("index-of-another-format", [](auto&) { by_lock("repo/.git/index", index_of_two_formats()); });
  add("index-of-a-format-that-is-removed", [](auto&) {
    shell("git init -q --bare --object-format=sha256 b");
    by_lock("b/index", index_of_two_formats());
    ::unlink("b/config");
  });
  add("index-of-another-format-before-it-becomes-one", [](auto&) {
    ::mkdir("b", 0755);
    write_file("b/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = "
                           "sha256\n");
    write_file("b/index", index_of_two_formats());
    make_bare("b");
  });
  add("index-of-a-work-tree", [](auto&) {
    shell("git -C repo worktree add -q ../tree");
    by_lock("repo/.git/worktrees/tree/index", forged_index());
  });
  add("head-by-lock", [](auto&) { by_lock("repo/.git/HEAD", outside); });
  add("head-written", [](auto&) { over("repo/.git/HEAD", outside); });
  add("head-by-another-name", [](auto&) {
    ::link("repo/.git/HEAD", "h");
    over("h", outside);
  });
  add("head-with-a-second-name-before", [](auto&) {
    ::mkdir("b", 0755);
    write_file("b/HEAD", "ref: refs/heads/m\n");
    ::link("b/HEAD", "h");
    make_bare("b");
    over("h", outside);
  });
  add("head-of-a-work-tree", [](auto&) {
    shell("git -C repo worktree add -q ../tree");
    by_lock("repo/.git/worktrees/tree/HEAD", outside);
  });
  add("head-in-a-work-tree-moved-in", [](auto&) {
    ::mkdir("repo/.git/x", 0755);
    write_file("repo/.git/x/HEAD", outside);
    ::mkdir("repo/.git/worktrees", 0755);
    ::rename("repo/.git/x", "repo/.git/worktrees/x");
  });
  add("head-in-work-trees-moved-in", [](auto&) {
    ::mkdir("repo/.git/x", 0755);
    ::mkdir("repo/.git/x/y", 0755);
    write_file("repo/.git/x/y/HEAD", outside);
    ::rename("repo/.git/x", "repo/.git/worktrees");
  });
  // A Git directory within takes nothing away from the one around it.
  add("index-with-a-git-directory-above", [](auto&) {
    shell("git -C repo worktree add -q ../tree");
    ::mkdir("repo/.git/worktrees/objects", 0755);
    ::mkdir("repo/.git/worktrees/refs", 0755);
    by_lock("repo/.git/worktrees/tree/index", forged_index());
    ::rmdir("repo/.git/worktrees/objects");
    ::rmdir("repo/.git/worktrees/refs");
  });
  add("reference-with-a-git-directory-above", [](auto&) {
    ::mkdir("repo/.git/refs/objects", 0755);
    ::mkdir("repo/.git/refs/refs", 0755);
    write_file("repo/.git/refs/heads/x", outside);
    ::rmdir("repo/.git/refs/objects");
    ::rmdir("repo/.git/refs/refs");
  });
  add("references-of-a-work-tree-moved-in", [](auto&) {
    shell("git -C repo worktree add -q ../tree");
    ::mkdir("r", 0755);
    write_file("r/x", outside);
    ::rename("r", "repo/.git/worktrees/tree/refs");
  });
  add("expected-revision", [](auto&) { write_file("repo/.git/BISECT_EXPECTED_REV", outside); });
  add("index-lock-by-link", [](auto&) {
    write_file("i", forged_index());
    ::link("i", "repo/.git/index.lock");
    ::rename("repo/.git/index.lock", "repo/.git/index");
  });
  add("reference-by-lock", [](auto&) { by_lock("repo/.git/refs/heads/x", outside); });
  add("reference-written", [](auto&) { write_file("repo/.git/refs/heads/x", outside); });
  add("reference-called-config", [](auto&) { write_file("repo/.git/refs/heads/config", outside); });
  add("reference-in-a-directory-moved-in", [](auto&) {
    ::mkdir("r", 0755);
    write_file("r/x", outside);
    ::rename("r", "repo/.git/refs/heads/r");
  });
  add("reference-from-inside", [](auto&) {
    ::mkdir("repo/.git/r", 0755);
    write_file("repo/.git/r/x", outside);
    ::rename("repo/.git/r", "repo/.git/refs/r");
  });
  add("reference-with-refs-moved-in", [](auto&) {
    ::mkdir("b", 0755);
    ::mkdir("b/objects", 0755);
    ::mkdir("r", 0755);
    write_file("r/x", outside);
    ::rename("r", "b/refs");
  });
  add("head-with-more-behind",
      [](auto&) { by_lock("repo/.git/HEAD", std::string(40, 'a') + "\n/planted = x\n"); });
  add("reference-with-more-behind",
      [](auto&) { write_file("repo/.git/refs/heads/x", std::string(40, 'a') + " /planted\n"); });
  add("conflicts-of-an-ordinary-name",
      [](auto&) { by_lock("repo/.git/MERGE_RR", std::string(40, 'a') + "\tx" + '\0'); });
  add("conflicts-of-an-ordinary-name-written",
      [](auto&) { over("repo/.git/MERGE_RR", std::string(40, 'a') + "\tx" + '\0'); });
  add("conflicts-of-a-work-tree", [](auto&) {
    shell("git -C repo worktree add -q ../tree");
    by_lock("repo/.git/worktrees/tree/MERGE_RR", std::string(40, 'a') + "\tx" + '\0');
  });
  add("conflicts-open-while-it-becomes-one", [](auto&) {
    ::mkdir("b", 0755);
    const int fd = ::open("b/MERGE_RR", O_RDWR | O_CREAT, 0644);
    make_bare("b");
    if (::write(fd, evil.data(), evil.size()) < 0)
      std::perror("write");
    ::close(fd);
  });
  add("conflicts-with-a-second-name-before", [](auto&) {
    ::mkdir("b", 0755);
    write_file("b/MERGE_RR", "");
    ::link("b/MERGE_RR", "m");
    make_bare("b");
    over("m", evil);
  });
  add("resolution-written", [](auto&) {
    make_cache("repo/.git");
    write_file("repo/.git/rr-cache/aa/postimage", evil);
  });
  add("resolution-of-a-second-conflict", [](auto&) {
    make_cache("repo/.git");
    by_lock("repo/.git/rr-cache/aa/postimage.1", evil);
  });
  add("resolution-moved-in", [](auto&) {
    make_cache("repo/.git");
    write_file("p", evil);
    ::rename("p", "repo/.git/rr-cache/aa/postimage");
  });
  add("resolution-linked-in", [](auto&) {
    make_cache("repo/.git");
    write_file("p", evil);
    ::link("p", "repo/.git/rr-cache/aa/postimage");
  });
  add("resolution-in-a-directory-moved-in", [](auto&) {
    make_cache("repo/.git");
    ::mkdir("repo/.git/r", 0755);
    write_file("repo/.git/r/postimage", evil);
    ::rename("repo/.git/r", "repo/.git/rr-cache/bb");
  });
  add("resolutions-moved-in", [](auto&) {
    ::mkdir("repo/.git/r", 0755);
    make_cache("repo/.git/r");
    write_file("repo/.git/r/rr-cache/aa/postimage", evil);
    ::rename("repo/.git/r/rr-cache", "repo/.git/rr-cache");
  });
  add("resolution-before-it-becomes-one", [](auto&) {
    ::mkdir("b", 0755);
    make_cache("b");
    write_file("b/rr-cache/aa/postimage", evil);
    make_bare("b");
  });
  add("conflicts-by-lock",
      [](auto&) { by_lock("repo/.git/MERGE_RR", std::string(40, 'a') + "\t/planted" + '\0'); });
  add("conflicts-written",
      [](auto&) { over("repo/.git/MERGE_RR", std::string(40, 'a') + "\t/planted" + '\0'); });
}

} // namespace villain
