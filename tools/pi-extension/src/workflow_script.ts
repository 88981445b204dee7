// What a workflow script of pi-subagents says before it runs: where its workers are to be, and
// whether commands are to be run for them on the host. Such a script is the calling model's own,
// and no wall is meant: it runs within Pi. This is for what a model writes that means well.

export interface said_in_script {
  /** The directories it names. */
  directories: string[];
  /** It names one in a way that only running it would tell. */
  unclear: boolean;
  /** It asks for a command on the host: `gate`, or `acceptance: {verify: […]}`. */
  host_command: boolean;
}

const token = /\/\/.*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[^]|[^`\\])*`/g;

export function read_script(script: string): said_in_script {
  const texts: string[] = [];
  const code = bare(script, texts);
  const directories: string[] = [];
  let unclear = false;
  for (const [, text] of code.matchAll(/\bcwd\b(?:\s*\]?\s*[:=]\s*"(\d+)"(?=\s*(?:[,;})\]]|$)))?/g))
    if (text === undefined) unclear = true;
    else directories.push(texts[Number(text)]!);
  return { directories, unclear, host_command: asks_for_a_host_command(code) };
}

/** Without comments, each text as its number, quoted keys without their quotes. */
function bare(script: string, texts: string[]): string {
  return script.replace(token, (found, at: number) => {
    if (found.startsWith("/")) return " ";
    const text = found.slice(1, -1);
    if (/^\w+$/.test(text) && /^\s*(?:\]\s*)?[:=]/.test(script.slice(at + found.length))) return text; // a quoted key
    if (found.startsWith("`") && text.includes("${")) return `(${bare(text.match(/(?<=\$\{)[^}]*/g)!.join(";"), texts)})`;
    return text.includes("\\") ? '"?"' : `"${texts.push(text) - 1}"`;
  });
}

function asks_for_a_host_command(code: string) {
  if (/(?:\.|\[\s*)(?:gate|verify)\s*\]?\s*=(?![=>])/.test(code)) return true;
  // Results may have such names, too: what counts are those that are beside an agent, and in an acceptance.
  for (const { 0: key, index } of code.matchAll(/(?<=[{,]\s*|\[\s*)(?:gate|verify)(?=\s*\]?\s*[:,}])/g)) {
    const { before, inside } = object_around(code, index);
    if (key === "gate" ? /\bagent\b|\.\.\./.test(inside) : /\bacceptance\s*[:=]\s*$/.test(before) || /\blevel\b/.test(inside)) return true;
  }
  return false;
}

/** What is in the innermost braces around a place, and all that is before them. */
function object_around(code: string, at: number) {
  const edge = (step: 1 | -1, into: string, out: string) => {
    let place = at;
    for (let depth = 0; place >= 0 && place < code.length; place += step)
      if (code[place] === into) depth++;
      else if (code[place] === out && depth-- === 0) break;
    return place;
  };
  const start = edge(-1, "}", "{");
  return { before: code.slice(0, Math.max(start, 0)), inside: code.slice(start + 1, edge(1, "{", "}")) };
}
