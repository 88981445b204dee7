// With a real Pi on a terminal: what a person sees and answers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pi_rig } from "./support/pi.ts";
import { child, children, watch } from "./support/processes.ts";

const rig = await pi_rig.start({ network: true });
after(() => rig.end());
before(() => rig.configure({ network: { allowedLocalPorts: [rig.model_port] } }));

test("a person at a terminal: notices, two workers at a glance, an approval, /reload", { timeout: 240_000 }, async (context) => {
  const terminal = rig.tui();
  let passed = false;
  context.after(() => {
    if (!passed) console.error(terminal.text); // what it was waiting for is not there
    return terminal.end();
  });
  await terminal.shows(/piorch \S+ \(linux\): bash and ! commands run in a sandbox; subagents by piorch\./);

  // Both work, and each says who it is and what it does; then both are done.
  const gates = ["left", "right"].map((name) => rig.pipe(`gate-${name}`));
  const tools = ["left", "right"].map((name) => ({ name: "subagent", arguments: { task: `#bash echo the ${name} answer; cat gate-${name}` } }));
  terminal.enter(`#steps ${JSON.stringify([{ tools }, { text: "both are done" }])}`);
  const row = (name: string) => `subagent start #bash echo the ${name} answer; cat gate-${name}\\s+running [0-9a-f]{32}\\s+bash echo the ${name} answer`;
  await terminal.shows(new RegExp(`${row("left")}[^]*${row("right")}[^]*─ \\S+ Working ─`));
  for (const gate of gates) gate.write("");
  await terminal.shows(/done [0-9a-f]{32} \d+ tokens\s+the left answer[^]*done [0-9a-f]{32} \d+ tokens\s+the right answer[^]*both are done/);

  // What a worker says moves no cursor. (What Pi's own model says would: it does not repeat it.)
  const answer = "\x1b[2J\x1b]0;title\x07first\tline\nsecond";
  const telling = [{ name: "subagent", arguments: { task: `#plain ${answer}` } }];
  terminal.enter(`#steps ${JSON.stringify([{ tools: telling }, { text: "it has told" }])}`);
  await terminal.shows(/subagent start #plain \\u\{1b\}\[2J\\u\{1b\}\]0;title\\u\{7\}first line\s+done [^]*\\u\{1b\}\[2J\\u\{1b\}\]0;title\\u\{7\}first {4}line\s+second\s+it has told/);

  // The question names the host and the command; both answers, and their effect.
  const fetch = "#bash curl -sS http://www.example.org/";
  terminal.enter(fetch);
  await terminal.shows(/Allow a connection to www\.example\.org:80\?\s+Command: curl -sS http:\/\/www\.example\.org\/[^]*→ Allow this exact operation once\s+Deny/);
  terminal.key("Enter");
  await terminal.shows(/the page\s+Took[^]*the page/);
  terminal.enter(`${fetch}again`);
  await terminal.shows(/Allow a connection[^]*\/again/);
  terminal.key("Down");
  await terminal.shows(/→ Deny/);
  terminal.key("Enter");
  await terminal.shows(/Reason: denied by the user\.[^]*Warning: piorch: denied a connection to www\.example\.org:80: denied by the user/);

  // A new orchestrator takes the place of the old one. Pi wants to have settled.
  await terminal.shows(/^(?![^]* Working ─)/);
  const pi = terminal.pid;
  const before = child(pi, "piorch-serve");
  const remain = await watch([before]);
  terminal.enter("/reload");
  assert.equal(await remain(), "");
  await terminal.shows(/passes the\s+same check\.\s+piorch \S+ \(linux\): bash and ! commands run in a sandbox/);
  terminal.enter("#bash echo after the reload in sandbox $PIORCH_SANDBOX");
  await terminal.shows(/after the reload in sandbox 1/);
  assert.notEqual(child(pi, "piorch-serve"), before);

  // A command of the person's own.
  terminal.enter("!echo my own in sandbox $PIORCH_SANDBOX");
  await terminal.shows(/my own in sandbox 1/);
  const all = await watch([pi, ...children(pi)]);
  terminal.enter("/quit");
  assert.equal(await all(), "");
  passed = true;
});
