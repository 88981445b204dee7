// The user's decisions: the trusted configuration file as a value (contract,
// section 6). Strict: a file that is not understood in every word is an error,
// never a default. Any thread.
#pragma once

#include "config/limits.hpp"
#include "config/patterns.hpp"
#include "config/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::config {

struct paths;

enum class subagents_provider { builtin, pi_subagents, off };
enum class worker_isolation { off, enforce };
enum class host_ipc_mode { off, ask };

// One member per section, one field per key; the defaults are the contract's.
// Lists keep the order of the file, without repetitions.
struct settings {
  struct {
    subagents_provider provider = subagents_provider::builtin;
    worker_isolation external_worker_isolation = worker_isolation::off;
  } subagents;
  struct {
    std::vector<std::string> additional_allow_read; // absolute, as written
  } filesystem;
  struct {
    std::vector<domain_pattern> allowed_domains;
    std::vector<domain_pattern> denied_domains;
    std::vector<std::uint16_t> allowed_local_ports;
  } network;
  struct {
    host_ipc_mode mode = host_ipc_mode::off;
    std::vector<std::string> preflight_command_prefixes; // trimmed, not empty
    bool retry_on_unix_socket_error = false;
  } host_ipc;
  struct {
    std::chrono::seconds timeout = piorch::limits::approval_timeout;
  } approvals;
  struct {
    std::uint64_t processes = piorch::limits::sandbox_processes;
    std::uint64_t memory_mib = piorch::limits::sandbox_memory_mib;
  } limits;
  // How long ended sessions stay on disk: the older of both bounds goes first.
  struct {
    std::chrono::hours keep = piorch::limits::session_keep;
    std::uint64_t keep_count = piorch::limits::session_keep_count;
  } sessions;
};

// Reads the text of a configuration file. Pure. Every error is
// failure::configuration_invalid, one line: `file_name`, the full key, what is
// accepted there.
result<settings> parse_settings(std::string_view text, std::string_view file_name);

struct loaded_settings {
  settings values;
  std::string file; // the one that was read; empty: there is none, these are the defaults
};

// The trusted file, else the legacy one if that is missing, else the defaults. A
// file that exists and cannot be used is an error and never passed over. Reads
// that one file and nothing else.
result<loaded_settings> load_settings(const paths& where);

// Which file load_settings would read, without reading it; "" if there is none.
std::string find_settings_file(const paths& where);

// All values as a JSON document in the form of the file, two spaces a level.
std::string settings_json(const settings& values);

} // namespace piorch::config
