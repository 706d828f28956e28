/** In-memory model of a run that executes one call at a time, as a correct service does. */
import { eventId } from "../../support/builders/requests.ts";
import type { Call, Outcome } from "./calls.ts";
import { claimsOf, type Part, statusOf, type View } from "./view.ts";

/** Start of a run whose first call does not set one. */
const RECEIVED_AT = "2026-11-21T12:00:07.000Z";

/** The run after the calls executed so far. */
export class ModelRun {
  readonly #parts = new Map<Part, number>();
  readonly #calls = new Map<number, Call>();
  #startedAt: string | null = null;

  /** Executes a call immediately; returns the response of the service. */
  take(call: Call): Outcome {
    if (call.kind === "read") return { kind: "seen", view: this.#view() };
    const isLate = call.kind === "finish" && this.#parts.has("closing");
    if (call.flawed && !isLate) return { kind: "refused" };
    this.#calls.set(call.by, call);
    switch (call.kind) {
      case "events":
        return this.#append(call);
      case "finish":
        return this.#finish(call);
      default:
        return this.#open(call);
    }
  }

  #append({ by, items }: Call & { kind: "events" }): Outcome {
    let accepted = 0;
    for (const { event } of items) if (this.#store(eventId(event) as Part, by)) accepted++;
    return { kind: "appended", accepted, duplicates: items.length - accepted };
  }

  #finish({ by }: Call & { kind: "finish" }): Outcome {
    const kind = this.#store("closing", by) ? "first" : "again";
    const closedBy = this.#parts.get("closing") ?? -1;
    const reported = {
      status: this.#status(),
      closedBy: this.#calls.get(closedBy)?.kind === "ping" ? null : closedBy,
    };
    return { kind, reported };
  }

  #open(call: Call & { agent: string; startedAt: string | null }): Outcome {
    const { by, kind, agent, startedAt } = call;
    const { facts } = this.#view();
    if (this.#parts.has("opening")) {
      if (agent !== facts.agent) return { kind: "conflict", field: "agent" };
      if (startedAt !== null && startedAt !== facts.startedAt) {
        return { kind: "conflict", field: "started_at" };
      }
    }
    const opens = this.#store("opening", by);
    if (opens) this.#startedAt = startedAt ?? RECEIVED_AT;
    const closes = kind === "beat" || kind === "ping";
    const isFirst = [opens, closes && this.#store("closing", by)].some((stored) => stored);
    if (kind === "ping") return { kind: isFirst ? "first" : "again", reported: {} };
    // The response to an opening contains the opening alone.
    const stored = this.#status();
    const word = kind !== "open" && stored === "cancelled" ? "failed" : stored;
    const status = isFirst && !closes ? "running" : word;
    const reported = { agent, startedAt: this.#view().facts.startedAt ?? "", status };
    return { kind: isFirst ? "first" : "again", reported };
  }

  #store(part: Part, by: number): boolean {
    if (this.#parts.has(part)) return false;
    this.#parts.set(part, by);
    return true;
  }

  #status(): string {
    const closer = this.#calls.get(this.#parts.get("closing") ?? -1);
    return closer === undefined ? "running" : statusOf(closer);
  }

  #view(): View {
    const parts = new Map(this.#parts);
    return { parts, facts: claimsOf(parts, this.#calls, this.#startedAt) };
  }
}
