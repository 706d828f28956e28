/**
 * Imports the lines of an export into an empty store: stores the parts of runs, then derives
 * summaries, sums and lists from them, as the worker does, but without alerts and checks.
 *
 * The first commit marks the store as a part of a ledger, and the last one removes the mark, so that
 * no service starts on a part.
 *
 * @module
 */
import {
  type EarlierKind,
  type ExportLine,
  type LineOf,
  parseLine,
  type RowKind,
} from "../../domain/core/export_format.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunDeletion } from "../../domain/retention/retention.ts";
import { keys, OWN_FORMAT } from "../base/keys.ts";
import { insertedKeys } from "../runs/heads.ts";
import { planProjection } from "../summaries/processing_store.ts";
import { TeamCommit } from "../summaries/team_commit.ts";
import { listRows, type Store } from "../store.ts";
import { type KvSet, pendingName, sizeOf } from "../writer/group.ts";
import { TransferFailed } from "./export.ts";
import { rowsOf } from "./export_rows.ts";
import { importedUpdate, RunRowsBuilder } from "./stored_run.ts";

/** Maximum rows and bytes of one commit. */
const COMMIT_MAX = { rows: 500, bytes: 500_000, keyBytes: 60_000 } as const;

/** Runs that are derived together; those of a team share commits. */
const RUNS_AT_ONCE = 1_000;

/** Result of an import. */
export interface Imported {
  /** Number of runs. */
  readonly runs: number;
  /** Number of events. */
  readonly events: number;
  /** Number of runs that the started service processes, because the exported one had not. */
  readonly pending: number;
}

/**
 * Stores the lines of an export in an empty store.
 *
 * @param onRun called for each run
 * @throws {TransferFailed} when the store is not empty, or the export is not complete
 */
export async function importLines(
  store: Store,
  lines: AsyncIterable<string>,
  onRun: () => void = () => {},
): Promise<Imported> {
  const [firstRow] = await listRows(store, { prefix: [] }, { limit: 1 });
  if (firstRow !== undefined) {
    throw new TransferFailed("The store is not empty: import into a new one");
  }
  const format = keys.format();
  await store.writer.commit({
    sets: [{ key: format, value: { ...OWN_FORMAT, format: "importing" } }],
  });
  const importer = new Importer(store, onRun);
  let [count, end] = [0, NaN];
  for await (const text of lines) {
    const line = parseLine(text);
    if (typeof line === "string") throw damaged(count + 1, line);
    if (!Number.isNaN(end)) throw damaged(count + 1, "it follows the end");
    if ((line.kind === "export") !== (count === 0)) throw damaged(count + 1, "it is out of place");
    if (line.kind === "end") end = line.lines;
    else {
      count++;
      await importer.add(line, text).catch((error) => {
        throw error instanceof TypeError ? damaged(count, error.message) : error;
      });
    }
  }
  if (end !== count) {
    throw new TransferFailed("The export is incomplete: export again, and import into a new store");
  }
  const imported = await importer.end();
  await store.writer.commit({ sets: [{ key: format, value: OWN_FORMAT }] });
  return imported;
}

function damaged(line: number, why: string): TransferFailed {
  return new TransferFailed(
    `Line ${line} of the export is damaged, or of a later version: ${why}: export again`,
  );
}

/** Stores the lines of one export. */
class Importer {
  readonly #store: Store;
  readonly #updater: TeamCommit;
  readonly #onRun: () => void;
  readonly #counts = { runs: 0, events: 0, pending: 0 };
  #batch = new Batch();
  /** The run whose lines are read. */
  #run: RunRowsBuilder | null = null;
  /** Stored runs to derive from, and deletions to announce, by team. */
  #waiting = new Map<TeamId, Map<RunId, LineOf<"run"> | RunDeletion>>();
  #waitingCount = 0;

  constructor(store: Store, onRun: () => void) {
    this.#store = store;
    // Imported runs are no news: they fire no alert.
    this.#updater = new TeamCommit(store, null);
    this.#onRun = onRun;
  }

  /** Stores a line. */
  async add(line: ExportLine, text: string): Promise<void> {
    switch (line.kind) {
      case "export":
      case "end":
        return;
      case "run":
        await this.#endRun();
        this.#run = new RunRowsBuilder(line, text);
        return;
      case "removed_events":
        return await this.#storeRows(this.#of(line).addRemoved(line));
      case "events":
        this.#counts.events += line.events.length;
        return await this.#storeRows(this.#of(line).addEvents(line, text));
      case "score":
        return await this.#storeRows([this.#of(line).scoreRow(line)]);
      case "deleted_run":
        await this.#endRun();
        return await this.#wait(line, line.deletion as unknown as RunDeletion);
      default:
        await this.#endRun();
        // What follows the runs must find them derived.
        if (this.#waitingCount > 0 && isAfterRuns(line)) await this.#derive();
        await this.#storeRows(rowsOf(line));
    }
  }

  /** Stores what is left; returns the counts. */
  async end(): Promise<Imported> {
    await this.#endRun();
    await this.#derive();
    await this.#commit();
    return this.#counts;
  }

  #of({ team, run }: { readonly team: string; readonly run: string }): RunRowsBuilder {
    const current = this.#run;
    if (current?.line.team !== team || current.line.run !== run) {
      throw new TypeError(`no line of run ${run} precedes it`);
    }
    return current;
  }

  async #endRun(): Promise<void> {
    const run = this.#run;
    if (run === null) return;
    this.#run = null;
    await this.#storeRows(run.headRows());
    this.#counts.runs++;
    this.#onRun();
    const { line } = run;
    if (line.is_pending !== true) return await this.#wait(line, line);
    this.#counts.pending++;
    await this.#commit();
    const name = pendingName(line.team as TeamId, line.run as RunId);
    const lane = line.closing === null ? "open" : "closed";
    await this.#store.writer.commit({ pending: [{ lane, name }] });
  }

  async #wait(
    { team, run }: { readonly team: string; readonly run: string },
    what: LineOf<"run"> | RunDeletion,
  ): Promise<void> {
    const ofTeam = this.#waiting.get(team as TeamId) ?? new Map();
    this.#waiting.set(team as TeamId, ofTeam.set(run as RunId, what));
    if (++this.#waitingCount >= RUNS_AT_ONCE) await this.#derive();
  }

  /** Derives summaries, sums and lists from stored runs. */
  async #derive(): Promise<void> {
    await this.#commit();
    for (const [team, runs] of this.#waiting) {
      await this.#updater.change(team, [...runs.keys()], async (run) => {
        const what = runs.get(run.id)!;
        if ("deletedAt" in what) {
          const sets = insertedKeys(team, run.id).map((key) => ({ key, value: what }));
          const rows = { sets, deletes: [] };
          return { run, before: null, after: null, deletion: what, rows };
        }
        const planned = await planProjection(run, { checks: [], judges: [] }, 0);
        return planned && importedUpdate(planned, what);
      });
    }
    [this.#waiting, this.#waitingCount] = [new Map(), 0];
  }

  async #storeRows(rows: readonly KvSet[]): Promise<void> {
    for (const row of rows) {
      if (this.#batch.add(row)) continue;
      await this.#commit();
      this.#batch.add(row);
    }
  }

  async #commit(): Promise<void> {
    const { rows } = this.#batch;
    if (rows.length === 0) return;
    this.#batch = new Batch();
    await this.#store.writer.commit({ sets: rows });
  }
}

function isAfterRuns({ kind }: LineOf<RowKind | EarlierKind>): boolean {
  return kind === "monitor" || kind === "flip";
}

/** Rows of one commit. */
class Batch {
  readonly rows: KvSet[] = [];
  #bytes = 0;
  #keyBytes = 0;

  /** Adds a row; returns false if it does not fit. The first one always does. */
  add(row: KvSet): boolean {
    const { bytes, keyBytes } = sizeOf({ sets: [row] });
    const isFull = this.rows.length === COMMIT_MAX.rows ||
      this.#bytes + bytes > COMMIT_MAX.bytes || this.#keyBytes + keyBytes > COMMIT_MAX.keyBytes;
    if (isFull && this.rows.length > 0) return false;
    this.rows.push(row);
    this.#bytes += bytes;
    this.#keyBytes += keyBytes;
    return true;
  }
}
