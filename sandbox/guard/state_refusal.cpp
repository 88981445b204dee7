#include "sandbox/guard/state_refusal.hpp"

namespace piorch::sandbox::guard {

std::string refusal(state_file kind, const std::string& why) {
  const auto subject = [kind] {
    switch (kind) {
      case state_file::none:
        return "git config: ";
      case state_file::index:
        return "git index: ";
      case state_file::reference:
        return "git reference: ";
      case state_file::conflicts:
      case state_file::resolution:
        return "git rerere: ";
      case state_file::git_file:
        return "git file: ";
    }
    return "git state: ";
  };
  return subject() + why;
}

} // namespace piorch::sandbox::guard
