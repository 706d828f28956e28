/** Compares the service's totals with its clients' own. */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { openUnlocked } from "../../../kv/open.ts";

/** Totals of all runs, none of them in doubt. */
export interface Totals {
  /** Events that count toward the quota. */
  counted: number;
  /** Runs that have their opening. */
  runs: number;
  events: number;
  llmCalls: number;
  inputTokens: number;
  /** Picodollars. */
  cost: number;
  unpriced: number;
}

export function noTotals(): Totals {
  return { counted: 0, runs: 0, events: 0, llmCalls: 0, inputTokens: 0, cost: 0, unpriced: 0 };
}

export function addTotals(sums: Totals, more: Totals): void {
  for (const name of Object.keys(sums) as (keyof Totals)[]) sums[name] += more[name];
}

export interface Access {
  readonly url: string;
  readonly key: string;
}

/** The worker may lag; while totals change it is at work. */
const UNCHANGED_MS_MAX = 60_000;
const POLL_MS = 20;

/** Maximum milliseconds in which reads are refused; one is refused after 2 s. */
const READ_MS_MAX = 30_000;
const PICODOLLARS = 1e12;

/** Waits until usage and spend from one day to another equal the expected totals. */
export async function assertTotals(
  access: Access,
  [from, to]: readonly [from: string, to: string],
  expected: Totals,
): Promise<void> {
  let current = await totalsOf(access, from, to);
  let changedMs = performance.now();
  while (JSON.stringify(current) !== JSON.stringify(expected)) {
    if (performance.now() - changedMs > UNCHANGED_MS_MAX) assertEquals(current, expected);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const next = await totalsOf(access, from, to);
    if (JSON.stringify(next) !== JSON.stringify(current)) changedMs = performance.now();
    current = next;
  }
}

/** Fails unless `expected` events count toward the quota; their commit counts them. */
export async function assertUsage(access: Access, expected: number): Promise<void> {
  assertEquals(await usageOf(access), expected, "usage differs from the stored events");
}

async function usageOf(access: Access): Promise<number> {
  const { months } = await getJson(access, "/v1/usage");
  // A new month may start meanwhile.
  return months.reduce((sum: number, { used }: { used: number }) => sum + used, 0);
}

async function totalsOf(access: Access, from: string, to: string): Promise<Totals> {
  const [counted, { totals }] = await Promise.all([
    usageOf(access),
    getJson(access, `/v1/spend?from=${from}&to=${to}`),
  ]);
  return {
    counted,
    runs: totals.runs,
    events: totals.events,
    llmCalls: totals.llm_calls,
    inputTokens: totals.input_tokens,
    cost: Math.round(totals.cost_usd * PICODOLLARS),
    unpriced: totals.unpriced.llm_calls,
  };
}

/** Reads JSON. A refused read is repeated: the store may be busy. */
async function getJson({ url, key }: Access, path: string) {
  const endMs = performance.now() + READ_MS_MAX;
  for (;;) {
    const response = await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } });
    const json = await response.json();
    if (response.status === 503 && performance.now() < endMs) continue;
    assertEquals(response.status, 200, `${path}: ${JSON.stringify(json)}`);
    return json;
  }
}

/** Recomputes a ledger from its runs' parts, while a service may use it: all must be exact. */
export async function assertVerified(
  path: string,
  expected: { readonly runs: number; readonly events: number },
): Promise<void> {
  const store = await openUnlocked(path);
  try {
    const { differences, teams, runs, events } = await verifyStore(store);
    assertEquals(differences, []);
    assert(teams.every(({ state }) => state === "exact"), JSON.stringify(teams));
    assertEquals({ runs, events }, { runs: expected.runs, events: expected.events });
  } finally {
    await store.close();
  }
}
