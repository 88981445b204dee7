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
/** Joined with other words, as in PGPASSWORD and SSHPASS. */
const secret_parts = /PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|^(?:SSH|PG|MYSQL|LDAP|REDIS)PASS|(?:TOKEN|APIKEY|CLIAUTH)(?:_|$)/;
const secret_prefixes = /^(?:PIORCH_|BASH_FUNC_|AWS_CONTAINER_|npm_config_.*(?:auth|token|password))/i;
/** A URL with a password in it is a credential whatever its name. */
const url_with_password = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i;
/** The shell's own directories. */
const harmless_names = new Set(["PWD", "OLDPWD"]);

export function is_secret(name: string, value: string): boolean {
  if (harmless_names.has(name)) return false;
  const upper = name.toUpperCase();
  const words = upper.split("_");
  return (
    secret_parts.test(upper) ||
    words.some((word) => secret_words.has(word)) ||
    secret_names.has(name) ||
    secret_prefixes.test(name) ||
    url_with_password.test(value)
  );
}

/** The names that the person wants kept. */
const named = () => (process.env.PIORCH_KEEP_ENV ?? "").split(",").map((name) => name.trim());

/** @param kept whether to keep a variable nevertheless */
export function sandbox_environment(
  environment: NodeJS.ProcessEnv,
  kept: (name: string, value: string) => boolean = (name) => named().includes(name),
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment))
    if (value !== undefined && (!is_secret(name, value) || kept(name, value))) result[name] = value;
  return result;
}

/** How a request to a model is authorized, as Pi's model registry says. */
export interface model_auth {
  apiKey?: string;
  headers?: Record<string, string | null>;
  env?: Record<string, string>;
}

/** Providers whose own libraries look for credentials under many names. */
const families: Record<string, RegExp> = {
  "amazon-bedrock": /^AWS_/,
  "google-vertex": /^(?:GOOGLE|GCLOUD|CLOUDSDK)_/,
};

/** What a subagent's Pi gets: what a command gets, and the credentials of its model's
 *  provider, by whatever name they were found. */
export function worker_environment(environment: NodeJS.ProcessEnv, provider: string, auth: model_auth): Record<string, string> {
  const keys = [auth.apiKey, ...Object.values(auth.headers ?? {})].filter((key) => typeof key === "string" && key !== "");
  const own = named();
  const kept = (name: string, value: string) =>
    own.includes(name) ||
    families[provider]?.test(name) === true ||
    (value !== "" && keys.some((key) => key === value || key!.endsWith(` ${value}`)));
  return { ...sandbox_environment(environment, kept), ...auth.env };
}
