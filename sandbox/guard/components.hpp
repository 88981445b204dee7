// Paths taken apart, as the kernel does it: empty components count as nothing. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox::guard {

// Takes the next component from the front; empty at the end.
inline std::string_view take_component(std::string_view& rest) {
  while (!rest.empty() && rest.front() == '/')
    rest.remove_prefix(1);
  const auto component = rest.substr(0, rest.find('/'));
  rest.remove_prefix(component.size());
  return component;
}

inline std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> out;
  for (auto one = take_component(path); !one.empty(); one = take_component(path))
    out.emplace_back(one);
  return out;
}

} // namespace piorch::sandbox::guard
