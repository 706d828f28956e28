/** Attacks on the pages of runs, their comparison and the search. */
import { EVENT_BYTES_MAX } from "../../../../domain/core/limits.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, must, sendUntilAccepted } from "../attacker.ts";
import { anEvent, events, gzip, instant, newId } from "../values.ts";
import { type Page, show, signedIn } from "./pages.ts";

/** Text that nearly fills an event. */
const LARGE = "a".repeat(EVENT_BYTES_MAX - 1_000);

/** Failed tool calls with as much data as fits. */
function largeFailures(count: number) {
  return events(count, () => anEvent({ name: "t", error: LARGE }, { type: "tool_call" }));
}

interface NewRun {
  /** Run that starts it. */
  readonly parent?: string | undefined;
  readonly status?: "failed" | "success";
  /** Bodies of its events. */
  readonly batches?: readonly Uint8Array[];
}

/** Stores a finished run; returns its id. */
async function storeRun(
  attacker: Attacker,
  { parent, status = "failed", batches = [] }: NewRun,
): Promise<string> {
  const id = newId("run");
  const opening = { id, agent: "a", started_at: instant(1_000), parent_run_id: parent };
  await sendUntilAccepted(() => attacker.post("/v1/runs", opening));
  for (const batch of batches) {
    await sendUntilAccepted(() => attacker.post(`/v1/runs/${id}/events`, batch));
  }
  const close = { status, finished_at: instant() };
  await sendUntilAccepted(() => attacker.post(`/v1/runs/${id}/finish`, close));
  return id;
}

async function pageOf(attacker: Attacker, ...paths: string[]): Promise<Page> {
  // Children are known to their parents after their stages.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return { cookie: await signedIn(attacker), paths: paths.map((path) => `/dashboard/${path}`) };
}

/** Stores a run with 5,000 large events. */
function storeLongRun(attacker: Attacker): Promise<string> {
  const line = "b".repeat(2_000);
  const batches = Array.from(
    { length: 100 },
    (_, n) =>
      gzip(events(50, (k) =>
        anEvent(
          { name: `t${(n * k) % 7}`, args: line, span: { id: `s${k}`, parent: `s${k + 1}` } },
          {
            type: "tool_call",
          },
        ))),
  );
  return storeRun(attacker, { batches });
}

export const traces: readonly Attack[] = [
  attack<Page>({
    name: "pages of a family",
    finding: null,
    does: "a run with 25 child runs, which have 200 more, all with events of 1 MB",
    async setUp(attacker) {
      const root = await storeRun(attacker, {});
      const children: string[] = [];
      await attacker.times(25, async () => {
        children.push(
          await storeRun(attacker, { parent: root, batches: [gzip(largeFailures(4))] }),
        );
      }, 4);
      await attacker.times(200, async (n) => {
        const parent = children[n % children.length];
        await storeRun(attacker, { parent, batches: [gzip(largeFailures(4))] });
      }, 4);
      return await pageOf(attacker, `runs/${root}`);
    },
    run: (attacker, { cookie, paths }) => show(attacker, cookie, paths),
  }),
  attack<Page>({
    name: "pages of a chain",
    finding: null,
    does: "a chain of 300 failed runs, each with 25 child runs or 300 KB of events",
    async setUp(attacker) {
      const ids: string[] = [];
      const batch = gzip(
        events(50, () => anEvent({ name: "t", args: "c".repeat(3_000) }, { type: "tool_call" })),
      );
      for (let n = 0; n < 300; n++) {
        ids.push(await storeRun(attacker, { parent: ids.at(-1), batches: [batch] }));
      }
      await attacker.times(1_000, async (n) => {
        await storeRun(attacker, { parent: ids[n % ids.length], status: "success" });
      });
      return await pageOf(attacker, `runs/${ids[0]}`);
    },
    run: (attacker, { cookie, paths }) => show(attacker, cookie, paths),
  }),
  attack<Page>({
    name: "pages of many tool calls",
    finding: null,
    does: "a model call with 80,000 tool calls without arguments, and one with a wide table",
    async setUp(attacker) {
      const table = `|${"a|".repeat(700)}\n|${"-|".repeat(700)}\n${"|\n".repeat(1_500)}`;
      const calls = Array.from({ length: 80_000 }, () => ({}));
      const paths: string[] = [];
      for (const data of [{ model: "m", tool_calls: calls }, { model: "m", output: table }]) {
        const event = anEvent(data, { type: "llm_call" });
        const id = await storeRun(attacker, { batches: [gzip({ events: [event] })] });
        paths.push(`runs/${id}?event=${event.id}`);
      }
      return await pageOf(attacker, ...paths);
    },
    run: (attacker, { cookie, paths }) => show(attacker, cookie, paths),
  }),
  attack<Page>({
    name: "long runs",
    finding: null,
    does: "two runs of 5,000 events: their pages, their filters and their comparison",
    async setUp(attacker) {
      const [a, b] = [await storeLongRun(attacker), await storeLongRun(attacker)];
      return await pageOf(
        attacker,
        `runs/${a}`,
        `runs/${a}?text=zzz`,
        `runs/${a}?kind=log&failed=1`,
        `runs/${a}/compare?with=${b}`,
      );
    },
    run: (attacker, { cookie, paths }) => show(attacker, cookie, paths),
  }),
  attack<Page>({
    name: "searches of everything",
    finding: null,
    does: "the search of all pages, with agents and customers that share their beginning",
    async setUp(attacker) {
      await attacker.times(3_000, async (n) => {
        const agent = `agent-${String(n).padStart(5, "0")}`;
        const beat = { id: newId("run"), agent, customer_id: `customer-${n}`, status: "ok" };
        must(await attacker.post("/v1/heartbeats", beat));
      });
      return await pageOf(attacker, "search?q=ffff", "search?q=agent", "search?q=customer-29");
    },
    run: (attacker, { cookie, paths }) => show(attacker, cookie, paths),
  }),
];
