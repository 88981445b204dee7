#include "config/version.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/output.hpp"

namespace piorch::cli {

namespace {
constexpr option options[] = {{0, "json", "", "one JSON object"}};
}

const command_help version_help = {"version",          "",      "the version of piorch",
                                   "version [--json]", options, ""};

int version_command(const arguments& args) {
  const auto given = parse_options(options, args);
  if (!given)
    return usage_error("version", given.failed().text);
  if (!given->words.empty() || !given->rest.empty())
    return usage_error("version", "takes no argument");
  if (!given->has("json"))
    return print(std::string("piorch ") + version + '\n');
  return print(std::string(R"({"name":"piorch","version":")") + version +
               R"(","protocolVersion":)" + std::to_string(protocol_version) + "}\n");
}

} // namespace piorch::cli
