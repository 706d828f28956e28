/** Numbered runs, checks that judge them, and the expected results and counts. */
import { assertEquals } from "@std/assert";
import { aFinish, anEvent, runId } from "./requests.ts";

/** Checks by slug, and whether run number `n` passes; the last two read events. */
export const JUDGING: Readonly<
  Record<string, { readonly expression: string; readonly isGood: (n: number) => boolean }>
> = {
  "ends-well": { expression: 'status == "success"', isGood: (n) => n % 3 !== 0 },
  "no-errors": { expression: "usage.errors == 0", isGood: (n) => n % 4 !== 0 },
  "no-loop": { expression: "longest_repeat.times < 2", isGood: (n) => n % 2 !== 0 },
  "no-removal": { expression: '!tools.exists(t, t.name == "remove")', isGood: (n) => n % 5 !== 0 },
};

/** A path, and the body to post to it. */
export type Post = readonly [path: string, body: unknown];

/**
 * Returns the calls of run number `n`. Those of some runs come in another order, and one event comes
 * after the end.
 */
export function callsOfRun(n: number): readonly Post[] {
  const at = new Date().toISOString();
  const path = `/v1/runs/${runId(n)}`;
  const tool = (k: number, name: string) =>
    anEvent(k, { type: "tool_call", data: { name, input: n % 2 === 0 ? 1 : k } });
  const errors = n % 4 === 0 ? [anEvent(4, { type: "error" })] : [];
  const events = [
    ...[tool(1, "search"), tool(2, "search"), ...errors],
    tool(3, n % 5 === 0 ? "remove" : "add"),
  ];
  const finish = aFinish({ status: n % 3 === 0 ? "failed" : "success", finished_at: at });
  const calls: Post[] = [
    ["/v1/runs", { id: runId(n), agent: `agent-${n % 3}`, started_at: at }],
    [`${path}/events`, { events: events.slice(0, -1) }],
    [`${path}/finish`, finish],
    [`${path}/events`, { events }],
  ];
  return n % 7 === 0 ? calls.toReversed() : calls;
}

/**
 * Fails unless each of the first runs has its results, and each check its counts.
 *
 * @param read returns the JSON of a path
 */
export async function assertJudged(
  runs: number,
  // deno-lint-ignore no-explicit-any -- reads responses of any shape
  read: (path: string) => Promise<any>,
): Promise<void> {
  for (let n = 0; n < runs; n++) {
    const { checks, cost } = await read(`/v1/runs/${runId(n)}?wait=final`);
    const results = checks.map(({ check, status, revision }: Record<string, unknown>) =>
      `${check} ${status}${revision === cost.revision ? "" : " of another revision"}`
    );
    const wanted = Object.entries(JUDGING).map(([slug, { isGood }]) =>
      `${slug} ${isGood(n) ? "pass" : "fail"}`
    );
    assertEquals(results, wanted, runId(n));
  }
  for (const [slug, { isGood }] of Object.entries(JUDGING)) {
    const { days } = await read(`/v1/checks/${slug}/stats`);
    const counts = ["pass", "fail", "error", "skipped"].map((name) =>
      days.reduce((sum: number, day: Record<string, number>) => sum + (day[name] ?? 0), 0)
    );
    const good = Array.from({ length: runs }, (_, n) => isGood(n)).filter(Boolean).length;
    assertEquals(counts, [good, runs - good, 0, 0], slug);
  }
}
