#include "tools/piorch-broker/questions.hpp"

#include "config/text.hpp"
#include "orchestration/host_access.hpp"

namespace piorch::broker {

question about_connection(const sandbox::network::ask_request& to, const std::string& command) {
  return {to.id,
          "the sandboxed command wants to connect to " + sandbox::network::to_text(to.to) +
              "\n        command: " + config::printable(command, 200) + "\n",
          "To allow this one connection", to.to.host};
}

question about_host(const sandbox::on_host& what) {
  const auto whole = [](const std::string& text) {
    return config::printable(text, 8 * text.size() + 8);
  };
  std::string text = "a command is to run ON THE HOST, outside of the sandbox\n        command: " +
                     whole(what.shown) + "\n        in: " + whole(what.job.directory) + "\n";
  if (!what.variables.empty())
    text += "        with: " + whole(what.variables) + "\n";
  if (what.prefix.empty())
    text += "        by: hostIPC.retryOnUnixSocketError\n        warning: " +
            std::string(orchestration::retry_warning) + "\n";
  else
    text += "        by: hostIPC.preflightCommandPrefixes: " + whole(what.prefix) + "\n";
  return {host_question, std::move(text), "To allow it once, exactly so,", "on the host"};
}

} // namespace piorch::broker
