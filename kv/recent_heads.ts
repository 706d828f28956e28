/**
 * Heads of runs that this process has just written, so that the worker need not read them.
 *
 * A head in memory holds all parts of its run if each commit of the run since its first one was
 * noted. That is true unless an earlier part waits for the worker under a mark that an earlier
 * process wrote, or whose head was evicted. So heads are used only once the worker has consumed all
 * marks up to the latest such event, and no commit that timed out may still be stored. A part that
 * was consumed earlier shows in the stored summary: the commit that uses a head checks that the
 * summary is the one the head knows.
 *
 * Only a process that writes its store alone keeps heads: it sees every commit.
 *
 * @module
 */
import { Overloaded, StorageUnavailable } from "../domain/core/errors.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache, type Memory } from "../runtime/memory.ts";
import type { RawJson } from "../domain/core/raw_json.ts";
import { ownText } from "../domain/core/text.ts";
import { hasPayload } from "../domain/retention/retention.ts";
import { EMPTY_LEDGER, type EventLedger } from "../domain/runs/ledger.ts";
import type { Closing, Opening } from "../domain/runs/run.ts";
import type { RunSummary } from "../domain/runs/summary.ts";
import { endsWithin } from "../runtime/deadlines.ts";
import { newRowName } from "./base/keys.ts";

/** Bytes of a head without its strings and models, with a typical summary; of a model; of a trace. */
const HEAD_BYTES = 900, MODEL_BYTES = 300, TRACE_BYTES = 4_000;

/** Maximum characters of the texts of a part that is kept whole; and of a score without its name. */
const TEXTS_MAX = 1_000, SCORE_CHARS = 20;

/** Milliseconds after which a commit in progress is not waited for: the worker reads its run. */
const COMMIT_MS_MAX = 50;

/** Replaces a payload: only its presence matters to a summary. */
const SOME_PAYLOAD = "null" as RawJson;

/** Parts that one commit stored. */
export interface NotedParts {
  readonly opening?: Opening;
  readonly closing?: Closing;
  readonly ledger?: EventLedger;
}

/** A head in memory. Long texts, and the ids of events, are left out. */
export class RecentHead {
  opening: Opening | null = null;
  closing: Closing | null = null;
  /** Ledger with an empty open page. */
  ledger: EventLedger = EMPTY_LEDGER;
  /** Summary that the worker stored; null before the first. */
  summary: RunSummary | null = null;
  /** Version of that summary. */
  summaryVersion: string | null = null;
  /** Version of the latest noted commit; empty before the first. */
  version = "";
  /** Version up to which the worker has included the noted commits. */
  included = "";
  /** Number of noted commits. */
  commits = 0;
  /** Bytes for which the cache has room. */
  bytes = HEAD_BYTES;
  /** True if texts of its opening or close are left out. */
  isStripped = false;
  /** True if the worker has read parts that it lacks. */
  isPartial = false;
  /** Number of commits in progress. */
  inFlight = 0;
  /** End of the latest commit; null once none is in progress. */
  ended: Promise<unknown> | null = null;
}

/** Heads of all teams, by the pending names of their runs. */
export class RecentHeads {
  readonly #heads: ByteCache<string, RecentHead>;
  readonly #isAlone: boolean;
  /** Marks up to this row name may belong to parts that no head holds. */
  #incompleteTo: string = newRowName();
  /** Number of commits that timed out and may still be stored. */
  #late = 0;

  /** @param isAlone true if no other process writes to the store */
  constructor(memory: Memory, isAlone: boolean) {
    this.#isAlone = isAlone;
    this.#heads = createByteCache<string, RecentHead>({
      memory,
      share: "heads",
      bytesOf: ({ bytes }, name) => BYTES_PER_CHAR * name.length + bytes,
      dispose: (head, _, reason) => {
        if (reason === "evict") this.#lose(head);
      },
    });
  }

  /**
   * Notes parts of a run once their commit has stored them.
   *
   * @param commit has just begun; its version, or null if it stores nothing
   */
  commitAndRemember(
    name: string,
    parts: NotedParts,
    commit: Promise<string | null>,
  ): Promise<string | null> {
    if (!this.#isAlone) return commit;
    const known = this.#heads.get(name);
    const head = known ?? new RecentHead();
    head.inFlight++;
    if (known === undefined) {
      const { opening = null, closing = null, ledger = EMPTY_LEDGER } = parts;
      head.bytes = bytesOfHead({ opening, closing, ledger });
      this.#heads.set(name, head);
    }
    const ended = commit.then((version) => {
      if (version === null) this.#end(name, head, null);
      else this.#end(name, head, parts, version);
      return version;
    }, (error) => {
      this.#end(name, head, error instanceof Overloaded ? null : "unknown");
      if (error instanceof StorageUnavailable) this.#awaitEnd(error);
      throw error;
    });
    head.ended = ended;
    return ended;
  }

  /**
   * Waits a short time for commits of some runs that are in progress. The worker may see a mark before
   * this process knows that its commit has ended; without the wait it would read the run.
   */
  async untilEnded(names: readonly string[]): Promise<void> {
    const ends = names.flatMap((name) => this.#heads.peek(name)?.ended ?? []);
    if (ends.length > 0) await endsWithin(COMMIT_MS_MAX, Promise.allSettled(ends));
  }

  /** Uses no head until a commit that timed out has ended: its mark is not written before. */
  #awaitEnd({ ended }: StorageUnavailable): void {
    if (ended === undefined) return;
    this.#late++;
    void ended.then(() => {
      this.#late--;
      this.noteForeign(newRowName());
    });
  }

  /** Notes the end of a commit: what it stored, null for nothing, or that this is not known. */
  #end(
    name: string,
    head: RecentHead,
    parts: NotedParts | null | "unknown",
    version: string = "",
  ): void {
    if (--head.inFlight === 0) head.ended = null;
    const isKept = this.#heads.peek(name) === head;
    if (parts === null) {
      if (isKept && head.inFlight === 0 && head.version === "") this.#heads.delete(name);
      return;
    }
    if (parts === "unknown" || !isKept) {
      if (isKept) this.#heads.delete(name);
      this.noteForeign(newRowName());
      return;
    }
    const { opening, closing, ledger } = parts;
    if (opening !== undefined) head.opening = keptPart(head, opening);
    if (closing !== undefined) head.closing = keptPart(head, closing);
    // The ids stay in the cache of live ledgers alone.
    if (ledger !== undefined) head.ledger = { ...ledger, tail: EMPTY_LEDGER.tail };
    if (version > head.version) head.version = version;
    head.commits++;
    const bytes = bytesOfHead(head);
    if (bytes <= head.bytes) return;
    head.bytes = bytes;
    // The cache measures only a new entry, and takes none that is too large.
    this.#heads.delete(name);
    this.#heads.set(name, head);
    if (this.#heads.peek(name) !== head) this.#lose(head);
  }

  /** Drops the head of a run that other commits change. */
  forget(name: string): void {
    const head = this.#heads.peek(name);
    if (head === undefined) return;
    this.#heads.delete(name);
    this.#lose(head);
  }

  /**
   * Returns the complete head of a run; null if the worker must read it.
   *
   * @param oldestMark name of the oldest row of marks that the worker has not consumed
   */
  recall(name: string, oldestMark: string): RecentHead | null {
    if (this.#late > 0 || oldestMark <= this.#incompleteTo) return null;
    const head = this.#heads.peek(name);
    const isComplete = head !== undefined && !head.isPartial && head.inFlight === 0 &&
      hasParts(head);
    return isComplete ? head : null;
  }

  /**
   * Notes that the worker has brought a run up to date.
   *
   * @param recent head that it used; null if it read the run
   * @param version version of the latest commit of the run that it knew of
   * @param stored summary that it stored; null if nothing changed
   */
  projected(
    name: string,
    recent: RecentHead | null,
    version: string,
    stored: { readonly summary: RunSummary; readonly version: string } | null,
  ): void {
    const head = this.#heads.peek(name);
    if (head === undefined) return;
    const isUnchanged = head.inFlight === 0 && head.version <= version;
    if (head !== recent) {
      // What was read may include parts that the head lacks.
      if (isUnchanged) this.#heads.delete(name);
      else head.isPartial = true;
      return;
    }
    if (stored !== null) {
      head.summary = stored.summary;
      head.summaryVersion = stored.version;
    }
    head.included = version;
    // A closed run rarely changes again.
    const isClosed = head.closing !== null || head.ledger.trace?.closedAt !== undefined;
    if (isUnchanged && isClosed) this.#heads.delete(name);
  }

  /** Notes that marks up to a row may belong to parts that no head holds. */
  noteForeign(row: string): void {
    if (row > this.#incompleteTo) this.#incompleteTo = row;
  }

  #lose({ inFlight, version, included }: RecentHead): void {
    // A commit in progress is noted as lost at its end.
    if (inFlight > 0 || version > included) this.noteForeign(newRowName());
  }
}

/**
 * Returns whether a head has the parts that decide. Of runs with a trace, it is one of the usual kind: the
 * trace has closed, so no silence closes it, and one instrumentation told its calls. The worker reads the
 * others, because it may have to store their prices again.
 */
function hasParts({ opening, ledger: { trace } }: RecentHead): boolean {
  if (trace === undefined) return opening !== null;
  const { slug, closedAt, scopes = [] } = trace;
  return slug !== undefined && closedAt !== undefined && scopes.length < 2;
}

/** Returns what a head keeps of a part: all of it if its texts are small. */
function keptPart<Part extends Opening | Closing>(head: RecentHead, part: Part): Part {
  if (charsOfTexts(part) <= TEXTS_MAX) {
    const { output } = part;
    return output === undefined ? part : { ...part, output: ownText(output) };
  }
  head.isStripped = true;
  // The fields that a summary depends on are all small.
  return {
    ...part,
    output: hasPayload(part) ? SOME_PAYLOAD : undefined,
    note: undefined,
    metadata: undefined,
    lost: undefined,
    ignored: undefined,
    goal: undefined,
    scores: undefined,
  };
}

/** Returns the characters of the fields that only checks read. */
function charsOfTexts(part: Opening | Closing): number {
  const { output, note, metadata, lost, goal, scores }: Partial<Opening & Closing> = part;
  let chars = (output?.length ?? 0) + (note?.length ?? 0) + (goal?.length ?? 0);
  for (const [key, value] of metadata ?? []) chars += key.length + String(value).length;
  for (const [name] of scores ?? []) chars += name.length + SCORE_CHARS;
  for (const field of lost ?? []) chars += field.length;
  return chars;
}

/** Returns an upper bound of the bytes of a head. */
function bytesOfHead(
  { opening, closing, ledger }: Pick<RecentHead, "opening" | "closing" | "ledger">,
): number {
  return HEAD_BYTES + bytesOfPart(opening) + bytesOfPart(closing) +
    MODEL_BYTES * ledger.totals.models.length +
    (ledger.trace === undefined ? 0 : TRACE_BYTES);
}

function bytesOfPart(part: Opening | Closing | null): number {
  if (part === null) return 0;
  const { agent, customerId, feature, reported }: Partial<Opening & Closing> = part;
  const texts = charsOfTexts(part);
  const chars = (agent?.length ?? 0) + (texts <= TEXTS_MAX ? texts : 0) +
    (customerId?.length ?? 0) +
    (feature?.length ?? 0) +
    (reported?.model?.length ?? 0) + (reported?.provider?.length ?? 0);
  return BYTES_PER_CHAR * chars;
}
