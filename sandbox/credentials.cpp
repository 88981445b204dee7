#include "sandbox/credentials.hpp"

#include "config/text.hpp"
#include "ipc/json_text.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {

namespace {

using nlohmann::json;

// A name that has one of these between its underscores, as in OPENAI_API_KEY.
constexpr std::array words{
    "key",    "keys", "apikey",  "token",      "tokens",     "secret",      "secrets", "password",
    "passwd", "pass", "pwd",     "passphrase", "credential", "credentials", "auth",    "cookie",
    "pat",    "dsn",  "askpass", "netrc",      "pgpassfile", "kubeconfig"};
constexpr std::array names{"aws_profile",
                           "aws_config_file",
                           "gpg_agent_info",
                           "ssh_agent_pid",
                           "ssh_connection",
                           "xauthority",
                           "display",
                           "wayland_display",
                           "dbus_session_bus_address",
                           "dbus_system_bus_address",
                           "docker_host",
                           "container_host",
                           "bash_env",
                           "env"};
constexpr std::array prefixes{"piorch_", "bash_func_", "aws_container_", "sshpass",
                              "pgpass",  "mysqlpass",  "ldappass",       "redispass"};
// Joined with other words, as in APP_DBPASSWORD, CLIENTSECRET and MYTOKEN.
constexpr std::array parts{"password", "passwd", "passphrase", "secret", "credential"};
constexpr std::array endings{"token", "apikey", "cliauth"}; // of what is between underscores

template <std::size_t N> bool has(const std::array<const char*, N>& list, std::string_view word) {
  return std::any_of(list.begin(), list.end(), [&](const char* one) { return word == one; });
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool is_secret_word(std::string_view word) {
  return has(words, word) || std::any_of(endings.begin(), endings.end(),
                                         [&](const char* end) { return ends_with(word, end); });
}

// scheme://user:password@host is a credential whatever its name.
bool has_password(std::string_view value) {
  const auto scheme = value.find("://");
  if (scheme == std::string_view::npos || scheme == 0)
    return false;
  const auto authority = value.substr(scheme + 3, value.find_first_of("/ \t", scheme + 3) -
                                                      std::min(value.size(), scheme + 3));
  const auto at = authority.find('@');
  return at != std::string_view::npos &&
         authority.substr(0, at).find(':') != std::string_view::npos;
}

std::string upper(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

// apiKey of a models.json may be the name of a variable: NAME, $NAME, ${NAME}.
std::string named_variable(std::string_view key) {
  while (!key.empty() && (key.front() == '$' || key.front() == '{'))
    key.remove_prefix(1);
  if (!key.empty() && key.back() == '}')
    key.remove_suffix(1);
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
  return plain ? std::string(key) : std::string();
}

} // namespace

bool is_credential(std::string_view name, std::string_view value) {
  if (name == "PWD" || name == "OLDPWD")
    return false;
  const std::string lower = config::lower_case(name);
  for (std::size_t at = 0; at <= lower.size();) {
    const std::size_t end = std::min(lower.find('_', at), lower.size());
    if (is_secret_word(std::string_view(lower).substr(at, end - at)))
      return true;
    at = end + 1;
  }
  if (std::any_of(parts.begin(), parts.end(),
                  [&](const char* part) { return lower.find(part) != std::string::npos; }))
    return true;
  if (starts_with(lower, "npm_config_") &&
      (lower.find("auth") != std::string::npos || lower.find("token") != std::string::npos))
    return true;
  return has(names, lower) ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* p) { return starts_with(lower, p); }) ||
         has_password(value);
}

kept_variables variables_of_provider(std::string_view provider, std::string_view models_json) {
  if (provider.empty())
    return {};
  kept_variables kept;
  auto& out = kept.beginnings;
  const auto is = [&](std::string_view start) { return starts_with(provider, start); };
  if (is("google-vertex"))
    out = {"GEMINI_", "GOOGLE_", "GCLOUD_", "CLOUDSDK_"};
  else if (is("google"))
    out = {"GEMINI_", "GOOGLE_"};
  else if (is("amazon-bedrock"))
    out = {"AWS_"};
  else if (is("github-copilot"))
    out = {"COPILOT_"};
  else if (is("azure"))
    out = {"AZURE_"};
  else if (is("huggingface"))
    out = {"HF_"};
  else if (is("vercel-ai-gateway"))
    out = {"AI_GATEWAY_"};
  else // the first word of anthropic, openai-codex, moonshotai-cn …
    out = {upper(provider.substr(0, provider.find('-'))) + "_"};

  json models;
  ipc::parse_json(models_json, models);
  const auto at = [](const json& in, const std::string& name) {
    return in.is_object() && in.contains(name) ? in.at(name) : json();
  };
  const json key = at(at(at(models, "providers"), std::string(provider)), "apiKey");
  if (key.is_string())
    if (auto name = named_variable(key.get_ref<const std::string&>()); !name.empty())
      kept.names.push_back(std::move(name));
  return kept;
}

void remove_credentials(environment& e, const kept_variables& kept) {
  const auto entries = e.entries();
  for (const std::string& entry : entries) {
    const auto equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    const bool keep =
        std::find(kept.names.begin(), kept.names.end(), name) != kept.names.end() ||
        std::any_of(kept.beginnings.begin(), kept.beginnings.end(),
                    [&](const std::string& start) { return starts_with(name, start); });
    if (!keep && is_credential(name, std::string_view(entry).substr(equals + 1)))
      e.unset(name);
  }
}

} // namespace piorch::sandbox
