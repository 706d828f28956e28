/** Run rows and lists of them, for exports. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { runId } from "./requests.ts";
import { NOON } from "../harness/harness.ts";
import type { RunListStore } from "../../../kv/run_list/run_list.ts";

export function aRow(n: number, fields: Partial<RunListRow> = {}): RunListRow {
  return {
    id: runId(n) as RunId,
    kind: "run",
    agent: "researcher",
    closedBy: null,
    status: "success",
    startedAt: NOON - n,
    sortedAt: NOON - n,
    finishedAt: NOON,
    receivedAt: NOON,
    durationMs: n,
    customerId: "acme",
    feature: "search",
    cost: {
      amount: BigInt(n),
      models: [],
      calls: 1,
      unpricedModels: [],
      flags: [],
      state: "final",
      revision: 1,
    },
    usage: {
      events: 3,
      llmCalls: 1,
      toolCalls: 1,
      logs: 1,
      errors: 0,
      inputTokens: 10n,
      outputTokens: 2n,
      cachedInputTokens: 0n,
    },
    flags: [],
    has: [],
    parent: null,
    failedTool: null,
    ...fields,
  };
}

/** A list of `count` runs, created while it is read; records its requests. */
export class FakeRunList implements RunListStore {
  readonly pagesRead: number[] = [];
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  starts(): ReturnType<RunListStore["starts"]> {
    return Promise.resolve(null);
  }

  page(
    ...[, , after, limit]: Parameters<RunListStore["page"]>
  ): ReturnType<RunListStore["page"]> {
    const from = after === null ? 0 : NOON - after.at + 1;
    this.pagesRead.push(from);
    const to = Math.min(from + limit, this.#count);
    const rows = Array.from({ length: to - from }, (_, n) => aRow(from + n));
    const next = to < this.#count ? { at: NOON - (to - 1), run: runId(to - 1) as RunId } : null;
    return Promise.resolve({ rows, next, searchedTo: null });
  }
}
