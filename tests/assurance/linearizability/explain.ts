/**
 * Linearizability check for the history of one run: attempts to assign each call an instant, between
 * its begin and its end, at which its response is correct.
 *
 * Each part of a run is written once, never changes, and names the call that wrote it. So the final
 * state names the write of each part. Each response shows which parts existed, which orders its
 * call before or after their writes. It remains to find an order that fits the clock.
 */
import type { Call, Operation } from "./calls.ts";
import { type Before, findContradiction, type Step } from "./order.ts";
import { type End, evidenceOf, partsOf } from "./evidence.ts";
import type { Part } from "./view.ts";

/** Operations that a correct service cannot have executed, and the reason. */
export interface Anomaly {
  readonly why: string;
  readonly operations: readonly Operation[];
}

/** Explains the history of one run; its last operation is a read after all others have ended. */
export function explain(history: readonly Operation[]): Anomaly | null {
  const last = history.at(-1);
  if (last?.outcome.kind !== "seen") throw new TypeError("A history must end with a read");
  const calls = new Map(history.map(({ call }) => [call.by, call]));
  return new Explanation(history, last, { calls, view: last.outcome.view }).anomaly();
}

/** A step is one operation, or several in doubt of which one took effect. */
interface CallStep extends Step {
  readonly operations: readonly Operation[];
}

interface Observed extends Before {
  readonly part: Part;
  /** True if `to` saw the part that `from` stored; otherwise `from` missed what `to` stored. */
  readonly seen: boolean;
}

class Explanation {
  readonly #history: readonly Operation[];
  readonly #last: Operation;
  readonly #end: End;
  readonly #steps: CallStep[] = [];
  readonly #befores: Observed[] = [];
  /** Index of the step that stored a call's parts, by call. */
  readonly #writes = new Map<number, number>();

  constructor(history: readonly Operation[], last: Operation, end: End) {
    this.#history = history;
    this.#last = last;
    this.#end = end;
  }

  anomaly(): Anomaly | null {
    return this.#addWrites() ?? this.#addEvidence() ?? this.#contradiction();
  }

  /** Finds the one step that stored each part. */
  #addWrites(): Anomaly | null {
    for (const by of new Set(this.#end.view.parts.values())) {
      const attempts = this.#history.filter(({ call }) => call.by === by);
      const firsts = attempts.filter(isFirst);
      const doubts = attempts.filter(({ outcome }) => outcome.kind === "unknown");
      const operations = firsts.length > 0 ? firsts : doubts;
      const what = `call ${by}, which stored ${partsOf(by, this.#end.view).join(", ")},`;
      if (operations.length === 0 || !mayStore(this.#end.calls.get(by))) {
        return { why: `${what} was never accepted`, operations: [...attempts, this.#last] };
      }
      if (firsts.length > 1) return { why: `${what} was accepted twice`, operations };
      const beginMs = Math.min(...operations.map((operation) => operation.beginMs));
      const endMs = firsts[0]?.endMs ?? Infinity;
      this.#writes.set(by, this.#steps.push({ beginMs, endMs, operations }) - 1);
    }
    return null;
  }

  #addEvidence(): Anomaly | null {
    for (const operation of this.#history) {
      const evidence = evidenceOf(operation, this.#end);
      if (typeof evidence === "string") {
        const why = `call ${operation.call.by} ${evidence}`;
        return { why, operations: this.#withWriters(operation) };
      }
      if (evidence.sees.length + evidence.misses.length === 0) continue;
      const step = this.#stepOf(operation);
      for (const part of evidence.sees) {
        const write = this.#writes.get(this.#end.view.parts.get(part) ?? -1);
        if (write === undefined) {
          const why = `call ${operation.call.by} saw ${part}, which does not exist at the end`;
          return { why, operations: [operation, this.#last] };
        }
        if (write !== step) this.#befores.push({ from: write, to: step, part, seen: true });
      }
      for (const part of evidence.misses) {
        const write = this.#writes.get(this.#end.view.parts.get(part) ?? -1);
        if (write === undefined) continue;
        this.#befores.push({ from: step, to: write, part, seen: false });
      }
    }
    return null;
  }

  #stepOf(operation: Operation): number {
    const own = this.#writes.get(operation.call.by);
    if (own !== undefined && this.#steps[own]?.operations.includes(operation)) return own;
    const { beginMs, endMs } = operation;
    return this.#steps.push({ beginMs, endMs, operations: [operation] }) - 1;
  }

  /** Returns an operation, the operations that opened and closed its run, and the final read. */
  #withWriters(operation: Operation): Operation[] {
    const { parts } = this.#end.view;
    const writers = [parts.get("opening"), parts.get("closing")].flatMap((by) =>
      this.#steps[this.#writes.get(by ?? -1) ?? -1]?.operations ?? []
    );
    return [...new Set([operation, ...writers, this.#last])];
  }

  #contradiction(): Anomaly | null {
    const chain = findContradiction(this.#steps, this.#befores);
    if (chain === null) return null;
    const links = chain.map(({ from, to, part, seen }) =>
      seen
        ? `call ${this.#by(from)} stored ${part}, which call ${this.#by(to)} saw`
        : `call ${this.#by(from)} did not see ${part}, which call ${this.#by(to)} stored`
    );
    const first = chain[0]?.from ?? 0;
    const last = chain.at(-1)?.to ?? 0;
    const end = last === first
      ? "so each comes before itself"
      : `so call ${this.#by(first)} comes before call ${this.#by(last)}, which had ended by then`;
    const steps = new Set(chain.flatMap(({ from, to }) => [from, to]));
    const operations = [...steps].flatMap((step) => this.#steps[step]?.operations ?? []);
    return { why: `${links.join("; ")}: ${end}`, operations };
  }

  #by(step: number): number | undefined {
    return this.#steps[step]?.operations[0]?.call.by;
  }
}

/** Returns true if the response says that the operation stored something. */
function isFirst({ outcome }: Operation): boolean {
  return outcome.kind === "first" || (outcome.kind === "appended" && outcome.accepted > 0);
}

function mayStore(call: Call | undefined): boolean {
  return call !== undefined && !call.flawed && call.kind !== "read";
}
