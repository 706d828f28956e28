/** Whatever is stored and whenever a sweep runs, it removes exactly the expired data. */
import { addCounts } from "../../../domain/core/sums.ts";
import { assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { EventId } from "../../../domain/core/ids.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { TIER_NAMES } from "../../../domain/teams/plans.ts";
import { EMPTY_SWEEP, hasPayload } from "../../../domain/retention/retention.ts";
import { SEED } from "../../support/harness/seed.ts";
import { eventId } from "../../support/builders/requests.ts";
import {
  aLargeCall,
  contentsOf,
  DAY_MS,
  HOUR_MS,
  RetentionHarness,
  SUM_ROWS,
} from "../../support/harness/retention_harness.ts";
import { cardOf, rateRow } from "../../support/builders/cards.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aCall, dumpOf, readRun, run } from "../../support/builders/stored_runs.ts";
import { RunModel, TeamModel } from "../../support/oracles/retention_model.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { noise, TempStore } from "../../support/harness/temp_store.ts";

import fc from "fast-check";

const RUNS = 4;

/** Retention periods of the plans, in days. */
const HORIZON_DAYS = [7, 14, 30, 90, 180, 400];

/** One step for one run of every team, some time after the previous one. */
type Step =
  & { readonly afterMs: number; readonly n: number }
  & (
    | { readonly kind: "open"; readonly payload: boolean; readonly customer: string | undefined }
    | { readonly kind: "finish"; readonly output: number }
    | { readonly kind: "beat"; readonly ends: boolean; readonly payload: boolean }
    | { readonly kind: "batch"; readonly events: readonly number[]; readonly large: boolean }
    | { readonly kind: "sweep"; readonly part: number; readonly offsetMs: number }
    | { readonly kind: "reprice"; readonly rate: number }
  );

const DAYS_BETWEEN = [0, 1 / 24, 1, 6, 8, 20, 31, 100];
const after = {
  afterMs: fc.constantFrom(...DAYS_BETWEEN.map((d) => d * DAY_MS)),
  n: fc.nat(RUNS - 1),
};
const kindOf = <Kind extends Step["kind"]>(kind: Kind) => fc.constant(kind);
const call: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...after,
      kind: kindOf("open"),
      payload: fc.boolean(),
      customer: fc.constantFrom("acme", undefined),
    }),
  },
  // Bytes of output; the largest take further pieces.
  {
    weight: 2,
    arbitrary: fc.record({
      ...after,
      kind: kindOf("finish"),
      output: fc.constantFrom(0, 9, 100_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...after,
      kind: kindOf("beat"),
      ends: fc.boolean(),
      payload: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      ...after,
      kind: kindOf("batch"),
      // Few numbers: many batches repeat events of an earlier one.
      events: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
      large: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...after,
      kind: kindOf("reprice"),
      rate: fc.integer({ min: 1, max: 9 }),
    }),
  },
);
const sweep: fc.Arbitrary<Step> = fc.record({
  ...after,
  kind: kindOf("sweep"),
  part: fc.nat(),
  offsetMs: fc.constantFrom(-1, 0, 1, HOUR_MS),
});
const scripts = fc.tuple(
  fc.array(fc.oneof({ weight: 6, arbitrary: call }, { weight: 1, arbitrary: sweep }), {
    minLength: 4,
    maxLength: 24,
  }),
  sweep,
).map(([steps, last]) => [...steps, last]);

/** A heartbeat's opening loses its payload, and a later opening adds none. */
const OPENED_AFTER_SWEEP: Step[] = [
  { afterMs: 0, n: 3, kind: "beat", ends: false, payload: true },
  { afterMs: 0, n: 0, kind: "sweep", part: 0, offsetMs: 1 },
  { afterMs: 0, n: 3, kind: "open", payload: true, customer: "acme" },
  { afterMs: 0, n: 0, kind: "batch", events: [1], large: false },
  { afterMs: 0, n: 0, kind: "sweep", part: 0, offsetMs: -1 },
];

/** A team that runs a script, with the expected state. */
class Life {
  readonly model: TeamModel;

  constructor(readonly archive: RetentionHarness, readonly team: Team) {
    this.model = new TeamModel(team.tier, RUNS);
  }

  /** Makes a call and checks that it is stored exactly if the model has no earlier version. */
  async take(step: Step): Promise<void> {
    const current = this.model.runs[step.n] ?? new RunModel();
    const at = this.archive.nowMs;
    const before = current.arrivals.length;
    const outcome = await this.#call(step, current, at);
    if (outcome === null) return;
    const accepted = "accepted" in outcome ? outcome.accepted : 1;
    const stored = outcome.kind === "stored" ? accepted : 0;
    const expected = step.kind === "batch"
      ? current.append(step.events.map((n) => eventId(n) as EventId), at)
      : Number(current.arrivals.length > before);
    assertEquals(stored, expected, `${step.kind} of run ${step.n}, ${this.team.tier}`);
    this.model.count(at, expected);
  }

  async #call(step: Step, known: RunModel, at: number) {
    const { archive: { runs }, team } = this;
    const own = { id: run(step.n), agent: "b", startedAt: NOON + step.n * DAY_MS };
    switch (step.kind) {
      case "open": {
        const { payload, customer } = step;
        known.opening ??= { at, payload };
        const texts = payload ? { goal: "a goal", metadata: [["env", "prod"] as const] } : {};
        return await runs.open(team, { ...own, customerId: customer, ...texts }, at);
      }
      case "finish": {
        known.closing ??= { at, payload: step.output > 0 };
        const output = step.output > 0 ? rawOf(noise(step.output, at)) : undefined;
        const request = { status: "success", finishedAt: at, output } as const;
        return await runs.finish(team, own.id, request, at);
      }
      case "beat": {
        const { ends, payload } = step;
        beat(known, at, ends, payload);
        const note = payload ? "a note" : undefined;
        const reported = { model: "known", inputTokens: 3 };
        const request = { ...own, status: ends ? "ok" : "start", note, reported } as const;
        return await runs.heartbeat(team, request, at);
      }
      case "batch": {
        const events = step.events.map((n) => step.large ? aLargeCall(n) : aCall(n));
        return await runs.append(team, own.id, events, at);
      }
      default:
        return null;
    }
  }

  /** Fails unless the stored data equals the model. */
  async compare(): Promise<void> {
    const { archive: { runs, store }, model, team } = this;
    for (const [n, known] of model.runs.entries()) {
      const read = await readRun(runs, team, run(n), null, 1_000);
      const what = `run ${n}, ${team.tier}`;
      assertEquals(read !== null, known.isStored, what);
      if (read === null) continue;
      const { parts: { opening, closing }, events, payload } = read;
      // Their order follows their own clock, which is irrelevant here.
      assertEquals(events.map(({ id }) => id).sort(), known.events.sort(), what);
      assertEquals(
        [opening && [opening.receivedAt, hasPayload(opening)]],
        [known.opening && [known.opening.at, known.opening.payload]],
        what,
      );
      assertEquals(
        [closing && [closing.receivedAt, hasPayload(closing)]],
        [known.closing && [known.closing.at, known.closing.payload]],
        what,
      );
      const isLeft = known.events.length > 0 || known.opening?.payload || known.closing?.payload;
      const state = !known.isStripped ? "whole" : isLeft ? "partly_removed" : "removed";
      assertEquals(payload, state, what);
    }
    const usage = new Map<string, number>();
    for await (
      const { key, value } of store.reader.list<Deno.KvU64>({ prefix: ["usage", team.id] })
    ) {
      usage.set(String(key[2]), Number(value.value));
    }
    assertEquals(usage, model.usage, team.tier);
  }
}

/** Parts that a heartbeat stores: an opening, a close, both, or nothing. */
function beat(known: RunModel, at: number, ends: boolean, payload: boolean): void {
  if (known.opening !== null) {
    if (ends) known.closing ??= { at, payload };
  } else if (!ends || known.closing !== null) {
    known.opening = { at, payload };
  } else {
    known.opening = { at, payload: false };
    known.closing = { at, payload };
  }
}

/** Sweeps around the instants when parts of runs expire under some plan. */
async function sweepAround(
  temp: TempStore,
  archive: RetentionHarness,
  lives: readonly Life[],
  { part, offsetMs }: Step & { kind: "sweep" },
): Promise<void> {
  await archive.work();
  const arrivals = lives[0]?.model.runs.flatMap((known) => known.arrivals) ?? [];
  const instants = arrivals
    .flatMap((at) => HORIZON_DAYS.map((days) => at + days * DAY_MS + offsetMs))
    .filter((at) => at >= archive.nowMs);
  archive.nowMs = instants[part % instants.length] ?? archive.nowMs;
  const expected = lives.flatMap(({ model }) => model.sweep(archive.nowMs))
    .reduce(addCounts, EMPTY_SWEEP);
  const [before, sums] = [await dumpOf(temp.store), await contentsOf(temp.store, SUM_ROWS)];
  assertEquals(await archive.sweep(true), expected, "what a dry run counts");
  assertEquals(await dumpOf(temp.store), before, "a dry run changed something");
  assertEquals(await archive.sweep(), expected, "what the sweep counts");
  assertEquals(await contentsOf(temp.store, SUM_ROWS), sums, "a sum changed");
  assertEquals(await archive.sweep(), EMPTY_SWEEP, "a second sweep found something");
  for (const life of lives) await life.compare();
  await assertClean(temp.store);
}

Deno.test("sweep: exactly the expired data is removed and all metrics still add up, after any calls", async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (script) => {
      await using temp = await TempStore.open();
      const archive = new RetentionHarness(temp.store);
      const teams = await Promise.all(TIER_NAMES.map((tier) => archive.addTeam(tier)));
      const lives = teams.map((team) => new Life(archive, team));
      for (const step of script) {
        archive.nowMs += step.afterMs;
        if (step.kind === "sweep") await sweepAround(temp, archive, lives, step);
        else if (step.kind === "reprice") {
          await archive.work();
          for (const team of teams) {
            await archive.reprice(team, cardOf(rateRow("known", step.rate, 5)));
          }
        } else await Promise.all(lives.map((life) => life.take(step)));
      }
    }),
    { seed: SEED, numRuns: 12, examples: [[OPENED_AFTER_SWEEP]] },
  );
});
