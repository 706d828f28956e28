/**
 * Verifies a ledger: its totals, its pages, their directory and the ids outside of pages.
 *
 * @module
 */
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import {
  EMPTY_LEDGER,
  hasRowIds,
  type LedgerPage,
  PACKED_ID_BYTES,
  pageEntryOf,
} from "../../domain/runs/ledger.ts";
import { isRest, type ModelUsage } from "../../domain/runs/model_usage.ts";
import { keys } from "../base/keys.ts";
import { readDirectory } from "../runs/batches.ts";
import type { LedgerAt } from "../runs/heads.ts";
import { eachRow, getEntry } from "../store.ts";
import type { Findings } from "./findings.ts";
import { sumEvents } from "../retention/payload.ts";

/** Verifies the ledger of a run; returns the totals of its events, and their number by month. */
export async function verifyLedger(run: LedgerAt, findings: Findings) {
  const { store, team, id, ledger } = run;
  const { totals, months } = await sumEvents(run, ledger.batches, (batch) => {
    findings.presence(`batch ${batch} of ${id}`, true, false);
  });
  const beyond = await getEntry(store, keys.batch(team, id, ledger.batches));
  if (beyond.versionstamp !== null) {
    findings.note(`batch ${ledger.batches} of ${id}`, "counted by the ledger", "not counted");
  }
  const expected = withLinesOf(totals, ledger.totals);
  findings.compare(`event totals of ${id}`, { ...expected }, { ...ledger.totals });
  await verifyPages(run, months, findings);
  await verifyScores(run, findings);
  return { totals: expected, months };
}

/**
 * Takes the ledger's lines by model if their sum equals the sum of the lines from the events.
 *
 * Only for a run with more models than lines: which models have a line depends on when they were
 * repriced.
 */
function withLinesOf(totals: EventTotals, ledger: EventTotals): EventTotals {
  const folded = [...totals.models, ...ledger.models].some(isRest);
  const same = folded && sumOfLines(totals.models) === sumOfLines(ledger.models);
  return same ? { ...totals, models: ledger.models } : totals;
}

function sumOfLines(lines: readonly ModelUsage[]): string {
  const sums = [0n, 0n, 0n, 0n, 0n];
  for (const { calls, inputTokens, outputTokens, cachedInputTokens, cost } of lines) {
    const line = [BigInt(calls), inputTokens, outputTokens, cachedInputTokens, cost];
    line.forEach((value, i) => sums[i] = (sums[i] ?? 0n) + value);
  }
  return sums.join();
}

/**
 * Compares a ledger with its pages and ids. Removed batches are still on the pages, and ids are
 * kept as long as the run.
 *
 * @param months events that are not removed, by month of arrival
 */
export async function verifyPages(
  run: LedgerAt,
  months: ReadonlyMap<string, number>,
  findings: Findings,
): Promise<void> {
  const { store, team, id, ledger } = run;
  const { batches, firstAt, latestAt, oldestAt, sealed, totals } = ledger;
  const stored = { ids: totals.events, batches, firstAt, latestAt, oldestAt, pages: sealed };
  const expected: typeof stored = {
    ids: 0,
    batches: 0,
    firstAt: null,
    latestAt: null,
    oldestAt: null,
    pages: 0,
  };
  const add = ({ ids, batches }: LedgerPage) => {
    expected.ids += ids.length / PACKED_ID_BYTES;
    for (const { receivedAt } of batches) {
      expected.firstAt = Math.min(expected.firstAt ?? receivedAt, receivedAt);
      expected.latestAt = Math.max(expected.latestAt ?? receivedAt, receivedAt);
      if (expected.batches++ >= ledger.removed) expected.oldestAt ??= receivedAt;
    }
  };
  const directory = await readDirectory(run);
  // A page sealed after the ledger was read belongs to a later state.
  for await (const { value } of eachRow<LedgerPage>(store, keys.firstPages(team, id, sealed))) {
    add(value);
    const page = expected.pages++;
    const entry = pageEntryOf(value, expected.batches);
    findings.compare(`directory of page ${page} of ${id}`, { ...entry }, { ...directory[page] });
  }
  add(ledger.tail);
  if (hasRowIds(ledger)) {
    for await (const _ of eachRow(store, { prefix: keys.eventIds(team, id) })) expected.ids++;
  }
  findings.compare(
    `ledger of ${id}`,
    { ...expected, ...Object.fromEntries(months) },
    { ...stored, ...ledger.months },
  );
}

/** Compares the count of scores with the stored rows. A run without a ledger has no scores. */
async function verifyScores({ store, team, id, ledger }: LedgerAt, findings: Findings) {
  if (ledger === EMPTY_LEDGER) return;
  let scores = 0;
  for await (const _ of eachRow(store, { prefix: keys.scores(team, id) })) scores++;
  findings.compare(`scores of ${id}`, { scores }, { scores: ledger.scores?.count ?? 0 });
}
