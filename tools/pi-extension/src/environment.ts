// What of Pi's own environment a sandboxed command gets: everything but credentials and
// the addresses of agents that would act for whoever reaches them. docs/pi.md has the
// list; PIORCH_KEEP_ENV="NAME,NAME" keeps single ones.

/** A name that has one of these between its underscores, as in OPENAI_API_KEY. */
const secret_words = new Set([
  "KEY", "KEYS", "APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASS", "PWD", "PASSPHRASE",
  "CREDENTIAL", "CREDENTIALS", "AUTH", "COOKIE", "PAT", "DSN", "ASKPASS", "NETRC", "PGPASSFILE", "KUBECONFIG",
]);
const secret_names = new Set([
  "AWS_PROFILE", "AWS_CONFIG_FILE", "GPG_AGENT_INFO", "SSH_AGENT_PID", "SSH_CONNECTION", "XAUTHORITY", "DISPLAY",
  "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DOCKER_HOST", "CONTAINER_HOST",
  "BASH_ENV", "ENV",
]);
const secret_prefixes = /^(?:PIORCH_|BASH_FUNC_|AWS_CONTAINER_|npm_config_.*(?:auth|token|password))/i;
/** A URL with a password in it is a credential whatever its name. */
const url_with_password = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i;
/** The shell's own directories. */
const harmless_names = new Set(["PWD", "OLDPWD"]);

export function is_secret(name: string, value: string): boolean {
  if (harmless_names.has(name)) return false;
  const words = name.toUpperCase().split("_");
  return (
    words.some((word) => secret_words.has(word)) ||
    secret_names.has(name) ||
    secret_prefixes.test(name) ||
    url_with_password.test(value)
  );
}

/** @param kept names to keep nevertheless */
export function sandbox_environment(
  environment: NodeJS.ProcessEnv,
  kept = (process.env.PIORCH_KEEP_ENV ?? "").split(",").map((name) => name.trim()),
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment))
    if (value !== undefined && (kept.includes(name) || !is_secret(name, value))) result[name] = value;
  return result;
}
