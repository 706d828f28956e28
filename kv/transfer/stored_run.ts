/**
 * Rows of an imported run.
 *
 * @module
 */
import type { LineOf } from "../../domain/core/export_format.ts";
import type { EventId, RunId, TeamId } from "../../domain/core/ids.ts";
import { rawElements, type RawJson, rawMembers, rawOf } from "../../domain/core/raw_json.ts";
import { type BatchPrices, NO_PRICES } from "../../domain/pricing/price.ts";
import type { RateMatch } from "../../domain/pricing/rates.ts";
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import { type RunEvent, storedFacts } from "../../domain/runs/event.ts";
import {
  decideAppend,
  EMPTY_LEDGER,
  type EventLedger,
  packEventIds,
  pageEntryOf,
} from "../../domain/runs/ledger.ts";
import type { StoredTrace } from "../../domain/runs/trace_facts.ts";
import type { ScoreSum } from "../../domain/runs/scores.ts";
import { encodeBatch } from "../base/codec.ts";
import { encodeLedger, encodeSums } from "../base/codec_sums.ts";
import { keys } from "../base/keys.ts";
import { runWorkRow } from "../runs/run_work.ts";
import { addToRow, type DirectoryRow } from "../runs/batches.ts";
import type { RunUpdate } from "../runs/heads.ts";
import { blobWrite } from "../store.ts";
import type { KvSet } from "../writer/group.ts";
import { fromJson } from "./export_rows.ts";

/** An export holds each event once. */
const NO_IDS = { isEmpty: true, has: () => false };

/** Builds the rows of one run, line by line. */
export class RunRowsBuilder {
  readonly line: LineOf<"run">;
  readonly #text: string;
  readonly #team: TeamId;
  readonly #id: RunId;
  #ledger = EMPTY_LEDGER;
  /** The directory's row of the latest sealed pages. */
  #directory: DirectoryRow = [];
  #removed: EventTotals | null = null;

  /** @param text of the line: payloads stay as sent */
  constructor(line: LineOf<"run">, text: string) {
    this.line = line;
    this.#text = text;
    [this.#team, this.#id] = [line.team as TeamId, line.run as RunId];
  }

  /** Returns the rows of a batch of events. */
  addEvents({ events, received_at }: LineOf<"events">, text: string): KvSet[] {
    const raw = rawElements(rawMembers(text).get("events") ?? "[]");
    const batch = events.map(({ id, type, ts, turn, unreadable, flags }, i): RunEvent => {
      const data = rawMember(raw[i] ?? "{}", "data");
      const fields = { id: id as EventId, type, ts, turn, unreadable, flags, data };
      return { ...fields, facts: storedFacts(type, data) } as RunEvent;
    });
    const prices = pricesOf(events);
    const rows = this.#append(batch, received_at, prices);
    const key = keys.batch(this.#team, this.#id, this.#ledger.batches - 1);
    return [...rows, ...this.#blob(key, encodeBatch(batch, received_at, prices))];
  }

  /** Returns the rows of the ids of removed batches. */
  addRemoved({ batches, ids, totals }: LineOf<"removed_events">): KvSet[] {
    this.#removed = fromJson(totals) as EventTotals;
    const rows = batches.flatMap(([receivedAt, tsMin, tsMax], i) => {
      const share = (n: number) => Math.floor(n * ids.length / batches.length);
      const batch = ids.slice(share(i), share(i + 1)).map((id, n): RunEvent => {
        const fields = { id: id as EventId, type: "log", ts: n === 0 ? tsMin : tsMax };
        return { ...fields, data: rawOf({}), facts: { error: false } };
      });
      return this.#append(batch, receivedAt, NO_PRICES);
    });
    const { batches: removed } = this.#ledger;
    const { totals: _, ...ledger } = this.#ledger;
    this.#ledger = { ...ledger, totals: this.#removed, removed, oldestAt: null, months: {} };
    const key = keys.removedTotals(this.#team, this.#id);
    return [...rows, { key, value: encodeSums(this.#removed) }];
  }

  /** Returns the row of an added score. */
  scoreRow({ score }: LineOf<"score">): KvSet {
    return { key: keys.score(this.#team, this.#id, score.id as EventId), value: score };
  }

  headRows(): KvSet[] {
    const { line } = this;
    const [team, id] = [this.#team, this.#id];
    const sets: KvSet[] = [];
    for (const [part, key] of [["opening", keys.opening], ["closing", keys.closing]] as const) {
      const text = rawMember(this.#text, part);
      if (text !== "null") sets.push(...this.#blob(key(team, id), text));
    }
    if (line.idle !== null) sets.push({ key: keys.idle(team, id), value: line.idle });
    if (line.price !== null) sets.push({ key: keys.price(team, id), value: fromJson(line.price) });
    if (line.incidents.length > 0) {
      sets.push({ key: keys.runIncidents(team, id), value: line.incidents });
    }
    const scores = line.scores as unknown as ScoreSum | undefined;
    const trace = line.trace as unknown as StoredTrace | undefined;
    if (this.#ledger.batches > 0 || scores !== undefined) {
      const ledger: EventLedger = {
        ...this.#ledger,
        repricings: line.repricings,
        ...scores === undefined ? {} : { scores },
        ...trace === undefined ? {} : { trace },
      };
      sets.push({ key: keys.ledger(team, id), value: encodeLedger(ledger) });
    }
    return sets;
  }

  /** Adds a batch to the ledger; returns its rows but for the batch itself. */
  #append(batch: readonly RunEvent[], receivedAt: number, prices: BatchPrices): KvSet[] {
    const [team, id] = [this.#team, this.#id];
    const { ledger, sealedPage, rowIds } = decideAppend(
      this.#ledger,
      NO_IDS,
      batch,
      receivedAt,
      prices,
    );
    this.#ledger = ledger;
    const rows = rowIds.map((event): KvSet => {
      return { key: keys.eventId(team, id, packEventIds([event])), value: true };
    });
    if (sealedPage === null) return rows;
    const page = ledger.sealed - 1;
    const entry = pageEntryOf(sealedPage, ledger.batches);
    const { set, next } = addToRow({ team, id }, page, this.#directory, entry);
    this.#directory = next;
    return [...rows, { key: keys.page(team, id, page), value: sealedPage }, set];
  }

  #blob(key: Deno.KvKey, text: string): KvSet[] {
    const { sets, staged } = blobWrite(this.#team, this.#id, key, text);
    return [...staged, ...sets];
  }
}

/** Returns a member of an object as it was sent. */
function rawMember(object: string, name: string): RawJson {
  const members = rawMembers(object);
  const text = members.get(`${name}_text`);
  return members.get(name) ?? (text === undefined ? rawOf(null) : JSON.parse(text));
}

/** Returns the prices of a batch as they are stored: each row that priced an event once. */
function pricesOf(events: LineOf<"events">["events"]): BatchPrices {
  const rows = new Map<string, number>();
  const matches: RateMatch[] = [];
  const by = events.map(({ priced_by }) => {
    if (priced_by === undefined) return -1;
    const name = JSON.stringify(priced_by);
    const index = rows.get(name) ?? matches.push(priced_by as unknown as RateMatch) - 1;
    rows.set(name, index);
    return index;
  });
  const costs = events.map(({ cost = "0" }) => {
    const exact = Number(cost);
    return Number.isSafeInteger(exact) ? exact : BigInt(cost);
  });
  const twins = events.flatMap(({ twin }, i) =>
    twin === undefined ? [] : [[i, twin as EventId] as const]
  );
  return { matches, by, costs, ...twins.length === 0 ? {} : { twins } };
}

/** Completes a planned update with what only the exported summary knew. */
export function importedUpdate(planned: RunUpdate, line: LineOf<"run">): RunUpdate {
  const { run: { team, id }, after, rows } = planned;
  if (after === null) return planned;
  const { listed, finalAt: _, ...summary } = after;
  const awaits = line.awaits_checks === true;
  const due = runWorkRow({ team, run: id }, line.final_at ?? 0);
  const checks = line.checks as unknown as readonly CheckResult[];
  return {
    ...planned,
    after: {
      ...summary,
      revision: line.revision,
      listed: { ...listed, at: line.listed_at ?? listed.at },
      ...line.final_at === undefined ? {} : { finalAt: line.final_at },
      ...line.is_counted === undefined ? {} : { isCounted: true },
      ...awaits ? { awaitsChecks: true } : {},
      ...line.judges === undefined ? {} : { judges: line.judges },
    },
    ...checks.length === 0 ? {} : { judged: checks },
    rows: awaits ? { ...rows, sets: [...rows.sets, due] } : rows,
  };
}
