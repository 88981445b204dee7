#include "sandbox/hand_over.hpp"

#include "sandbox/files.hpp"
#include "sandbox/kill_starting.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace piorch::sandbox {

using nlohmann::json;

namespace {

constexpr auto replace = json::error_handler_t::replace;

int keep(ipc::unique_fd& fd) {
  if (fd)
    ::fcntl(fd.get(), F_SETFD, 0);
  return fd.release();
}

ipc::unique_fd take(const json& from, const char* name) {
  const int fd = from.at(name).get<int>();
  if (fd >= 0)
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return ipc::unique_fd(fd);
}

// Paths are bytes, JSON is UTF-8: one code point a byte keeps them.
std::string to_utf8(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto b = static_cast<unsigned char>(c);
    if (b < 0x80)
      out += c;
    else {
      out += static_cast<char>(0xC0 | (b >> 6));
      out += static_cast<char>(0x80 | (b & 0x3F));
    }
  }
  return out;
}

std::string to_bytes(const std::string& utf8) {
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto b = static_cast<unsigned char>(utf8[i]);
    if (b < 0x80)
      out += utf8[i];
    else if (i + 1 < utf8.size())
      out += static_cast<char>(((b & 0x03) << 6) | (static_cast<unsigned char>(utf8[++i]) & 0x3F));
  }
  return out;
}

json to_utf8(const std::vector<std::string>& words) {
  json out = json::array();
  for (const auto& word : words)
    out.push_back(to_utf8(word));
  return out;
}

std::vector<std::string> to_bytes(const json& words) {
  std::vector<std::string> out;
  for (const auto& word : words)
    out.push_back(to_bytes(word.get_ref<const std::string&>()));
  return out;
}

// Both ends are of one build.
std::string settings_bytes(const std::optional<termios>& from) {
  return from ? std::string(reinterpret_cast<const char*>(&*from), sizeof *from) : std::string();
}

std::optional<termios> settings_from(const std::string& bytes) {
  termios out{};
  if (bytes.size() != sizeof out)
    return std::nullopt;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

json host_json(std::optional<on_host>& from) {
  if (!from)
    return nullptr;
  return {
      {"arguments", to_utf8(from->job.arguments)}, {"environment", to_utf8(from->job.environment)},
      {"directory", to_utf8(from->job.directory)}, {"shown", to_utf8(from->shown)},
      {"variables", to_utf8(from->variables)},     {"prefix", to_utf8(from->prefix)},
      {"signalMask", from->signal_mask},           {"ignoredSignals", from->ignored_signals},
      {"inputOffset", from->input_offset},         {"stderrFrom", keep(from->stderr_from)},
      {"stderrTo", keep(from->stderr_to)}};
}

std::optional<on_host> host_from(const json& j) {
  if (j.is_null())
    return std::nullopt;
  const auto bytes = [&](const char* name) {
    return to_bytes(j.at(name).get_ref<const std::string&>());
  };
  on_host out;
  out.job.arguments = to_bytes(j.at("arguments"));
  out.job.environment = to_bytes(j.at("environment"));
  out.job.directory = bytes("directory");
  out.shown = bytes("shown");
  out.variables = bytes("variables");
  out.prefix = bytes("prefix");
  out.signal_mask = j.at("signalMask").get<std::uint64_t>();
  out.ignored_signals = j.at("ignoredSignals").get<std::uint64_t>();
  out.input_offset = j.at("inputOffset").get<std::int64_t>();
  out.stderr_from = take(j, "stderrFrom");
  out.stderr_to = take(j, "stderrTo");
  return out;
}

} // namespace

result<ipc::unique_fd> send(hand_over& from) {
  auto [scratch_path, scratch_fd] = from.temp.release();
  auto [beside_path, beside_fd] = from.beside.release();
  const json j{{"bwrap", from.bwrap},
               {"channel", keep(from.channel)},
               {"diagnostics", keep(from.diagnostics)},
               {"scratch", to_utf8(scratch_path)},
               {"scratchDirectory", keep(scratch_fd)},
               {"beside", to_utf8(beside_path)},
               {"besideDirectory", keep(beside_fd)},
               {"report", keep(from.report)},
               {"terminal", keep(from.terminal)},
               {"terminalSettings", to_utf8(settings_bytes(from.terminal_settings))},
               {"workspace", to_utf8(from.workspace)},
               {"tempDir", to_utf8(from.temp_dir)},
               {"trustedFile", to_utf8(from.trusted_file)},
               {"command", to_utf8(from.command)},
               {"timeLimitMs", from.time_limit.count()},
               {"begunUs", from.begun_us},
               {"ask", from.ask},
               {"supervisor", keep(from.supervisor)},
               {"capability", from.capability},
               {"workerId", from.worker_id},
               {"heartbeatSeconds", from.heartbeat.count()},
               {"host", host_json(from.host)},
               {"settings", config::settings_json(from.settings)}};
  const std::string text = j.dump(-1, ' ', false, replace);
  ipc::unique_fd fd(::memfd_create("hand-over", 0));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::lseek(fd.get(), 0, SEEK_SET) != 0)
    return error{failure::fault,
                 std::string("cannot hand over to the broker: ") + std::strerror(errno)};
  return fd;
}

result<hand_over> receive(int fd) {
  const ipc::unique_fd file(fd);
  std::string text;
  char block[4096];
  for (ssize_t n; (n = ::read(fd, block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(n));
  const json j = json::parse(text, nullptr, false);
  if (!j.is_object())
    return error{failure::fault, "started by piorch only"};
  auto settings =
      config::parse_settings(j.at("settings").get_ref<const std::string&>(), "settings");
  if (!settings)
    return std::move(settings).failed();
  hand_over out;
  out.bwrap = j.at("bwrap").get<pid_t>();
  out.channel = take(j, "channel");
  out.diagnostics = take(j, "diagnostics");
  out.temp =
      scratch::adopt(to_bytes(j.at("scratch").get<std::string>()), take(j, "scratchDirectory"));
  out.beside =
      scratch::adopt(to_bytes(j.at("beside").get<std::string>()), take(j, "besideDirectory"));
  out.report = take(j, "report");
  out.terminal = take(j, "terminal");
  out.terminal_settings = settings_from(to_bytes(j.at("terminalSettings").get<std::string>()));
  out.workspace = to_bytes(j.at("workspace").get<std::string>());
  out.temp_dir = to_bytes(j.at("tempDir").get<std::string>());
  out.trusted_file = to_bytes(j.at("trustedFile").get<std::string>());
  out.command = to_bytes(j.at("command").get<std::string>());
  out.time_limit = std::chrono::milliseconds(j.at("timeLimitMs").get<std::int64_t>());
  out.begun_us = j.at("begunUs").get<std::uint64_t>();
  out.ask = j.at("ask").get<bool>();
  out.supervisor = take(j, "supervisor");
  out.capability = j.at("capability").get<std::string>();
  out.worker_id = j.at("workerId").get<std::string>();
  out.heartbeat = std::chrono::seconds(j.at("heartbeatSeconds").get<std::int64_t>());
  out.host = host_from(j.at("host"));
  out.settings = std::move(*settings);
  return out;
}

void take(hand_over& next, launched&& from) {
  next.bwrap = from.bwrap;
  next.channel = std::move(from.channel);
  next.diagnostics = std::move(from.diagnostics);
  next.temp = std::move(from.temp);
  next.beside = std::move(from.beside);
  next.workspace = from.rules.workspace;
  next.temp_dir = from.rules.temp_dir;
}

error become_broker(hand_over& next, const std::string& libexec_dir, const char* kind) {
  const pid_t bwrap = next.bwrap;
  const auto file = send(next);
  error why{failure::fault, {}};
  if (file) {
    const std::string broker = join(libexec_dir, "piorch-broker");
    const std::string number = std::to_string(file->get());
    ::execl(broker.c_str(), "piorch-broker", kind, number.c_str(), nullptr);
    why.text = "cannot run " + broker + ": " + std::strerror(errno) + "; install piorch again";
  } else
    why = file.failed();
  if (bwrap > 0)
    kill_starting(bwrap);
  return why;
}

} // namespace piorch::sandbox
