// The environment of a sandboxed command. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox {

// NAME=VALUE entries; a name occurs once.
class environment {
public:
  static environment of_this_process();
  explicit environment(std::vector<std::string> entries = {});

  void set(std::string_view name, std::string_view value);
  void set_default(std::string_view name, std::string_view value);
  void unset(std::string_view name);
  const std::string* find(std::string_view name) const; // the whole entry
  std::string_view value(std::string_view name) const;  // "" when unset
  const std::vector<std::string>& entries() const { return entries_; }

private:
  std::vector<std::string> entries_;
};

// What --clear-env keeps: enough for a program to start and a person to read it.
environment minimal(const environment& from);

// Of a command that names none: looks what this machine has.
const char* default_shell();

// Takes out what belongs to piorch itself and adds what the sandbox brings:
// its temp dir ("" when there is none), caches below it, the proxy.
void prepare_for_sandbox(environment& e, const std::string& scratch);

} // namespace piorch::sandbox
