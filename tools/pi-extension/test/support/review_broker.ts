// What pi-auto-review publishes for other packages, as another package sees it: a broker
// under a symbol of the realm, whose decisions come with a grant that is good once, for
// one request of one session. REVIEW says what it decides; REVIEW_LOG is where it writes
// what it was asked.
import { createHash, randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";

type request = Record<string, unknown> & { id: string };
type options = { sessionId: string; scopeKey: string; issueGrant?: boolean };

const key = (asked: request, session: string) =>
  createHash("sha256").update(JSON.stringify([session, Object.entries(asked).sort()])).digest("hex");

class boundary_approval_broker {
  #grants = new Map<string, string>();

  async review(asked: request, { sessionId, scopeKey, issueGrant }: options) {
    const decides = process.env.REVIEW!;
    appendFileSync(process.env.REVIEW_LOG!, `${JSON.stringify({ asked, sessionId, scopeKey, issueGrant })}\n`);
    switch (decides) {
      case "deny":
        return {
          kind: "deny", review: { rationale: "it sends the project away", risk: "high" }, denialSource: "reviewer",
          recoveryCommand: "/auto-review retry",
        };
      case "defer":
        return { kind: "defer", reason: "not sure" };
      case "throw":
        throw new Error("the reviewer's model is not there");
      case "silent":
        return new Promise(() => {});
      case "no-grant":
        return { kind: "allow", review: { rationale: "fine" } };
    }
    const token = randomUUID();
    const granted = decides === "other" ? { ...asked, id: `${asked.id}-other` } : asked;
    this.#grants.set(token, key(granted, sessionId));
    if (decides === "used") this.consumeGrant(asked, sessionId, token);
    return { kind: "allow", review: { rationale: "fine" }, grant: { token, expiresAt: Date.now() + 60_000 } };
  }

  consumeGrant(asked: request, sessionId: string, token: string) {
    const granted = this.#grants.get(token);
    this.#grants.delete(token);
    return granted === key(asked, sessionId);
  }
}

export default function () {
  const symbol = Symbol.for("pi-auto-review:boundary-approval-broker");
  (globalThis as Record<symbol, unknown>)[symbol] = new boundary_approval_broker();
}
