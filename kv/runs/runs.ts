/**
 * Stores openings and closes: decides, commits with checks that protect the decision, and retries
 * on a conflict.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import {
  decideFinish,
  decideHeartbeat,
  decideOpen,
  type Decision,
  DELETED,
} from "../../domain/runs/decide.ts";
import type { RunId } from "../../domain/core/ids.ts";
import type { CappedOutcome, RunStore } from "../../domain/runs/store.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import type { Opening, RunParts } from "../../domain/runs/run.ts";
import { monthOf } from "../../domain/core/time.ts";
import { encodeOneCall, encodePart } from "../base/codec.ts";
import { readParts } from "./heads.ts";
import { inTime } from "../base/deadline.ts";
import { pendingName } from "../writer/pending_mark.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { OpenHeartbeats } from "./open_heartbeats.ts";
import { RecentIds } from "./recent_ids.ts";
import {
  type BlobWrite,
  blobWrite,
  chunkKeys,
  getMany,
  stage,
  type Store,
  unstage,
} from "../store.ts";
import { type AgentRows, agentRows, keysOfAgent, useAgent } from "../agents/rows.ts";
import type { KnownAgents, KnownTeam } from "../agents/known_agents.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { tombstoneOf } from "./tombstone.ts";
import type { Write } from "../writer/write.ts";

/**
 * Requests that may wait for a new agent: after a start, all requests of a team wait until the
 * first of them has completed.
 */
const NEW_AGENT_WAITS = { name: 1_024, all: 4_096 } as const;

/** Stored state of a run. */
interface Snapshot {
  readonly parts: RunParts;
  /** The rows of the parts. */
  readonly rows: StoredParts;
  readonly agent: AgentSnapshot | null;
}

/** Rows of the parts of a run. */
interface StoredParts {
  readonly opening: Deno.KvEntryMaybe<unknown>;
  readonly closing: Deno.KvEntryMaybe<unknown>;
}

/** State of an agent, and the team state it was read under. */
interface AgentSnapshot {
  readonly rows: AgentRows;
  readonly known: KnownTeam | null;
}

const NO_PARTS: RunParts = { opening: null, closing: null };

/** A write request in progress. */
interface Call {
  readonly team: Team;
  readonly id: RunId;
  readonly receivedAt: number;
  /** Agent in the request; null for a finish. */
  readonly agent: string | null;
  readonly decide: (parts: RunParts) => Decision;
}

/** Creates the operations of {@link RunStore} that open and close runs. */
export function createRuns(
  store: Store,
  cards: RateCards,
  known: KnownAgents,
): Pick<RunStore, "open" | "finish" | "heartbeat"> {
  const writer = new RunWriter(store, known);
  return {
    open(team, request, receivedAt) {
      const decide = (parts: RunParts) => decideOpen(parts, request, receivedAt);
      return writer.write({ team, id: request.id, receivedAt, agent: request.agent, decide });
    },
    heartbeat(team, request, receivedAt) {
      const write = (card: RateCard) => {
        const decide = (parts: RunParts) => decideHeartbeat(parts, request, receivedAt, card);
        const call = { team, id: request.id, receivedAt, agent: request.agent, decide };
        return writer.write(call, writer.assumedOf(call));
      };
      const card = cards.card(team);
      return card instanceof Promise ? inTime(card, store.deadlines).then(write) : write(card);
    },
    async finish(team, id, request, receivedAt) {
      const decide = (parts: RunParts) => decideFinish(parts, request, receivedAt);
      const outcome = await writer.write({ team, id, receivedAt, agent: null, decide });
      // Only a new agent can be refused, and a finish has no agent.
      if (outcome.kind === "refused") throw new TypeError("A finish cannot reach the agent cap");
      return outcome;
    },
  };
}

/** Writes requests: first without a read, assuming a new run, else by reading the stored state. */
class RunWriter {
  readonly #store: Store;
  readonly #known: KnownAgents;
  /** Ids with a recently written opening or close: a repeated request reads before it writes. */
  readonly #opened: RecentIds;
  readonly #closed: RecentIds;
  readonly #openHeartbeats: OpenHeartbeats;
  readonly #teamLocks: KeyedMutex;

  constructor(store: Store, known: KnownAgents) {
    this.#store = store;
    this.#known = known;
    this.#teamLocks = new KeyedMutex(store.deadlines, NEW_AGENT_WAITS);
    this.#openHeartbeats = new OpenHeartbeats(store.memory);
    const idsMax = RecentIds.within(store.memory.bytesMax("recent_ids") / 2);
    [this.#opened, this.#closed] = [new RecentIds(idsMax), new RecentIds(idsMax)];
    store.memory.register("recent_ids", () => this.#opened.bytes + this.#closed.bytes);
  }

  /**
   * Writes a request. The first attempt assumes that the run does not exist, which is usually true
   * and costs no read. On a conflict, it reads and decides again.
   */
  write(call: Call, assumed: RunParts = NO_PARTS): Promise<CappedOutcome> {
    const { team, agent } = call;
    const isKnown = agent === null || this.#known.hasOrRecheck(team.id, agent);
    if (!isKnown) return inTime(this.#writeWithNewAgent(call), this.#store.deadlines);
    const decision = call.decide(assumed);
    const { opening, closing, outcome } = decision;
    // An assumption may only lead to a commit, because its checks prove it. A replay needs a read.
    const isRepeated = (opening === undefined && closing === undefined) ||
      (opening !== undefined && this.#opened.has(call.id)) ||
      (closing !== undefined && this.#closed.has(call.id));
    if (isRepeated) return this.#writeStored(call);
    const { write, staged } = partsWrite(call, decision, null);
    if (staged.length > 0) return this.#writeStored(call);
    return this.#commit(call, decision, write).then((version) => {
      if (version === null) return this.#writeStored(call);
      this.#remember(call, decision);
      return outcome;
    });
  }

  /** Commits the parts of a decision. */
  #commit({ team, id }: Call, parts: Decision, write: Write): Promise<string | null> {
    const { heads, writer } = this.#store;
    return heads.noting(team.id, id, parts, () => writer.commit(write));
  }

  /** Returns the assumed state of a heartbeat's run: as the heartbeat that opened it left it. */
  assumedOf(call: Call): RunParts {
    const opening = this.#openHeartbeats.get(nameOf(call), call.receivedAt);
    return opening === undefined ? NO_PARTS : { opening, closing: null };
  }

  /** Writes a request after reading the stored state, for the few that need it. */
  #writeStored(call: Call): Promise<CappedOutcome> {
    return inTime(this.#writeReading(call, null), this.#store.deadlines);
  }

  /**
   * New agents hold the lock of their team: each of them writes the count of agents. A request
   * whose agent is known once it has the lock continues without it, concurrently with all others.
   */
  async #writeWithNewAgent(call: Call): Promise<CappedOutcome> {
    const { team, agent } = call;
    const outcome = await this.#teamLocks.take(
      team.id,
      () =>
        agent !== null && this.#known.has(team.id, agent)
          ? Promise.resolve(null)
          : this.#writeReading(call, agent),
    );
    return outcome ?? await this.write(call);
  }

  /** Reads, decides and commits until there is no conflict; adds `newAgent` if it is set. */
  #writeReading(call: Call, newAgent: string | null): Promise<CappedOutcome> {
    const { team, receivedAt } = call;
    return untilCommitted("write a run", async () => {
      const snapshot = await this.#read(team, call.id, newAgent);
      if (snapshot === null) return DELETED;
      const { parts, agent, rows } = snapshot;
      const decision = call.decide(parts);
      // A replay or a conflict takes precedence over the agent limit.
      if (!decision.opening && !decision.closing) return decision.outcome;
      const added = agent === null || newAgent === null || agent.rows.used !== null
        ? {}
        : useAgent(team, agent.rows, agent.rows.archived ?? { created_at: receivedAt });
      if ("code" in added) return { kind: "refused", problem: added };
      const { write, staged } = partsWrite(call, decision, rows);
      await stage(this.#store, team.id, staged);
      if (await this.#commit(call, decision, merge(write, added)) !== null) {
        this.#remember(call, decision);
        if (newAgent !== null && agent !== null) this.#known.add(team.id, newAgent, agent.known);
        return decision.outcome;
      }
      await unstage(this.#store, team.id, staged);
      return LOST;
    });
  }

  /** Reads the state that a request depends on; null if the run is deleted. */
  async #read(team: Team, id: RunId, agent: string | null): Promise<Snapshot | null> {
    const readAtMs = this.#known.now();
    const partKeys = [keys.opening(team.id, id), keys.closing(team.id, id)];
    const keysToRead = agent === null ? partKeys : [...partKeys, ...keysOfAgent(team.id, agent)];
    const [opening, closing, ...entries] = await getMany(this.#store, keysToRead);
    if (opening === undefined || closing === undefined) throw new TypeError("Rows are missing");
    if (tombstoneOf([opening.value, closing.value]) !== null) return null;
    const at = { store: this.#store, team: team.id, id };
    const stored = { opening, closing };
    const read = await readParts(at, opening.value, closing.value);
    if (agent === null) return { parts: read, rows: stored, agent: null };
    const rows = agentRows(entries);
    const known = this.#known.noteVersion(team.id, rows.archiveVersion, readAtMs);
    return { parts: read, rows: stored, agent: { rows, known } };
  }

  /** Caches a write. The cache never answers a request; it only selects the first attempt. */
  #remember(call: Call, { opening, closing, replaces }: Decision): void {
    const { id } = call;
    if (opening !== undefined) this.#opened.add(id);
    if (closing !== undefined) this.#closed.add(id);
    if (opening?.kind === "heartbeat" && closing === undefined) {
      this.#openHeartbeats.add(nameOf(call), opening);
    } else if (replaces !== undefined) this.#openHeartbeats.delete(nameOf(call));
  }
}

/** Returns a run's name, unique across teams. */
function nameOf({ team, id }: Call): string {
  return pendingName(team.id, id);
}

/**
 * Returns the write that inserts the decided parts and counts the request.
 *
 * An opening and a close of one call share the row of the close. So a call that opens a run checks
 * both rows, whichever it writes.
 *
 * @param stored rows that the decision was made from; null if none is assumed to exist
 */
function partsWrite(
  { team, id, receivedAt }: Call,
  { opening, closing, replaces }: Decision,
  stored: StoredParts | null,
): { readonly write: Write; readonly staged: BlobWrite["staged"] } {
  const openingKey = keys.opening(team.id, id);
  const closingKey = keys.closing(team.id, id);
  const checks: Deno.AtomicCheck[] = [];
  if (opening !== undefined) {
    checks.push({ key: openingKey, versionstamp: stored?.opening.versionstamp ?? null });
  }
  checks.push({ key: closingKey, versionstamp: stored?.closing.versionstamp ?? null });
  const blob = closing === undefined
    ? blobWrite(team.id, id, openingKey, encodePart(opening as Opening))
    : blobWrite(
      team.id,
      id,
      closingKey,
      opening === undefined ? encodePart(closing) : encodeOneCall(closing, opening),
    );
  const deletes = replaces === undefined ? [] : chunkKeys(team.id, id, stored?.opening.value);
  const isCounted = replaces?.isCounted === true;
  const sums = isCounted ? [] : [{ key: keys.usage(team.id, monthOf(receivedAt)), by: 1n }];
  const lane = closing === undefined ? "open" : "closed";
  const pending = [{ lane, name: pendingName(team.id, id) }] as const;
  const { sets, staged } = blob;
  return { write: { team: team.id, checks, sums, sets, deletes, pending }, staged };
}

function merge(a: Write, b: Write): Write {
  return {
    ...a,
    checks: [...a.checks ?? [], ...b.checks ?? []],
    sums: [...a.sums ?? [], ...b.sums ?? []],
    sets: [...b.sets ?? [], ...a.sets ?? []],
    deletes: [...a.deletes ?? [], ...b.deletes ?? []],
  };
}
