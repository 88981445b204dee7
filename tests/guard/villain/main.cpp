#include "villain.hpp"

int main(int argc, char** argv) {
  using namespace villain;
  std::vector<attack> all;
  add_spelling_attacks(all);
  add_path_attacks(all);
  add_kernel_attacks(all);
  add_git_settings_attacks(all);
  add_git_directory_attacks(all);
  add_git_state_attacks(all);
  add_git_file_attacks(all);
  add_plain_attacks(all);
  add_tree_attacks(all);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "list") {
    for (const auto& a : all)
      std::printf("%s\n", a.name.c_str());
    return 0;
  }
  if (mode == "attack" && argc > 2) {
    for (const auto& a : all)
      if (a.name == argv[2]) {
        a.run(a.argument);
        return 0;
      }
    return 2;
  }
  if (mode == "race" && argc > 2)
    return race(std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : -1);
  if (mode == "operations" && argc > 2)
    return operations(static_cast<unsigned>(std::atoi(argv[2])));
  if (mode == "stress" && argc > 2)
    return stress(argv[2]);
  std::fprintf(
      stderr,
      "guard-villain list | attack NAME | race SECONDS [TEAM] | operations SEED | stress WHAT\n");
  return 2;
}
