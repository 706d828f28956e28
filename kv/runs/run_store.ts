/**
 * Stores runs in Deno KV, each operation within its deadline. Openings and closes are decided, then
 * committed with checks that protect the decision; a conflict is retried.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import { hasAgentCap } from "../../domain/agents/agents.ts";
import {
  decideFinish,
  decideHeartbeat,
  decideOpen,
  type Decision,
  DELETED,
  type HeartbeatRequest,
  type Outcome,
} from "../../domain/runs/decide.ts";
import type { CappedOutcome, RunStore } from "../../domain/runs/run_store.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import type { RunParts } from "../../domain/runs/run.ts";
import { inTime, LOST, untilCommitted } from "../base/retry.ts";
import { BURST, KeyedMutex } from "../../runtime/fair_slots.ts";
import { readHead, type RunRef } from "./heads.ts";
import { type Call, commitParts, partsWrite, readSnapshot } from "./commit_parts.ts";
import { createAppend } from "./events.ts";
import { findRun } from "./read.ts";
import { OpenPings } from "./open_pings.ts";
import { Staging } from "./staging.ts";
import type { Store } from "../store.ts";
import type { KnownAgents } from "../agents/known_agents.ts";
import { useAgent } from "../agents/rows.ts";
import type { Write } from "../writer/group.ts";

const NO_PARTS: RunParts = { opening: null, closing: null };

export function createRunStore(store: Store, cards: RateCards, known: KnownAgents): RunStore {
  const writer = new RunWriter(store, known);
  const pings = new OpenPings(store);
  const { append, drop } = createAppend(store, cards, known);
  const withCard = <T>(team: Team, write: (card: RateCard) => Promise<T>): Promise<T> => {
    const card = cards.card(team);
    return card instanceof Promise ? inTime(card, store.deadlines).then(write) : write(card);
  };
  // Calls of the writer have their own deadlines: the first attempt is one commit with the deadline of
  // the store's writer; an attempt that reads first gets a further deadline of the same length.
  return {
    open(team, request, receivedAt) {
      const decide = (parts: RunParts) => decideOpen(parts, request, receivedAt);
      return writer.write({ team, id: request.id, receivedAt, agent: request.agent, decide });
    },
    heartbeat: (team, request, receivedAt) =>
      withCard(
        team,
        (card) => writer.write(heartbeatCall(team, request, receivedAt, card)),
      ),
    ping: (team, request, rid, receivedAt) =>
      withCard(team, (card) => {
        const call = (sent: HeartbeatRequest) => heartbeatCall(team, sent, receivedAt, card);
        const write = () => writer.write(call(request));
        const writeWith = (sent: HeartbeatRequest, others: Write) =>
          writer.writeOnce({ ...call(sent), others }, sent.agent);
        const ping = { team: team.id, rid, request, receivedAt, write, writeWith };
        return inTime(pings.write(ping), store.deadlines);
      }),
    async finish(team, id, request, receivedAt) {
      const decide = (parts: RunParts) => decideFinish(parts, request, receivedAt);
      const outcome = await writer.write({ team, id, receivedAt, agent: null, decide });
      // Only a new agent can be refused, and a finish has no agent.
      if (outcome.kind === "refused") throw new TypeError("A finish cannot reach the agent cap");
      drop(team, id);
      return outcome;
    },
    append: (...args) => inTime(append(...args), store.deadlines),
    find({ id: team }, id) {
      const read = <T>(work: () => Promise<T>) => store.reads.run(team, work);
      return read(() => findRun({ store, team, id }, read));
    },
  };
}

function heartbeatCall(
  team: Team,
  request: HeartbeatRequest,
  receivedAt: number,
  card: RateCard,
): Call {
  const decide = (parts: RunParts) => decideHeartbeat(parts, request, receivedAt, card);
  return { team, id: request.id, receivedAt, agent: request.agent, decide };
}

/** Writes requests: first without a read, assuming a new run, else by reading the stored state. */
class RunWriter {
  readonly #store: Store;
  readonly #known: KnownAgents;
  /** Ids with a recently written opening or close: a repeated request reads before it writes. */
  readonly #opened: RecentIds;
  readonly #closed: RecentIds;
  /** Turns of calls whose agent is new, in teams whose plan limits agents. */
  readonly #newAgents: KeyedMutex;

  constructor(store: Store, known: KnownAgents) {
    this.#store = store;
    this.#known = known;
    this.#newAgents = new KeyedMutex(store.deadlines, BURST);
    const bytesMax = store.memory.bytesMax("recent_ids") / 2;
    [this.#opened, this.#closed] = [new RecentIds(bytesMax), new RecentIds(bytesMax)];
    store.memory.register("recent_ids", () => this.#opened.bytes + this.#closed.bytes);
  }

  /**
   * Writes a request. The first attempt assumes that the run does not exist, which is usually true
   * and costs no read. On a conflict, it reads and decides again.
   */
  write(call: Call): Promise<CappedOutcome> {
    const { team, agent } = call;
    if (agent !== null && !this.#known.hasOrRecheck(team.id, agent)) {
      return inTime(this.#writeWithAgent(call, agent), this.#store.deadlines);
    }
    const decision = call.decide(NO_PARTS);
    const { opening, closing, outcome } = decision;
    // An assumption may only lead to a commit, because its checks prove it. A replay needs a read.
    const isRepeated = (opening === undefined && closing === undefined) ||
      (opening !== undefined && this.#opened.has(call.id)) ||
      (closing !== undefined && this.#closed.has(call.id));
    if (isRepeated) return this.#writeStored(call);
    const { write, staged } = partsWrite(call, decision, null);
    if (staged.length > 0) return this.#writeStored(call);
    return commitParts(this.#at(call), decision, write).then((version) => {
      if (version === null) return this.#writeStored(call);
      this.#remember(call, decision);
      return outcome;
    });
  }

  /** Reads, decides and commits once: the caller repeats it with other rows. */
  writeOnce(call: Call, agent: string): Promise<CappedOutcome | typeof LOST> {
    const { team } = call;
    if (this.#known.hasOrRecheck(team.id, agent)) return this.#attempt(call);
    const attempt = () => this.#attempt(call, agent);
    return hasAgentCap(team) ? this.#newAgents.take(team.id, attempt) : attempt();
  }

  /** Writes a request after reading the stored state, for the few that need it. */
  #writeStored(call: Call): Promise<CappedOutcome> {
    const written = untilCommitted("write a run", () => this.#attempt(call));
    return inTime(written, this.#store.deadlines);
  }

  /** Writes a call whose agent may be new; one that is stored, as after a start, needs no turn. */
  async #writeWithAgent(call: Call, agent: string): Promise<CappedOutcome> {
    const { team } = call;
    const write = () => untilCommitted("write a run", () => this.#attempt(call, agent));
    if (!hasAgentCap(team)) return await write();
    const stored = await readSnapshot(this.#at(call), this.#known, agent);
    if (stored?.agent?.rows.used) return await write();
    const isKnown = () => this.#known.has(team.id, agent);
    const writeOrNull = () => isKnown() ? Promise.resolve(null) : write();
    return await this.#newAgents.take(team.id, writeOrNull) ?? await this.write(call);
  }

  /**
   * Reads, decides and commits.
   *
   * @param agent the agent if it may be new; the commit activates it then
   */
  async #attempt(
    call: Call,
    agent: string | null = null,
  ): Promise<CappedOutcome | typeof LOST> {
    const { team, receivedAt } = call;
    const run = this.#at(call);
    const snapshot = await readSnapshot(run, this.#known, agent);
    if (snapshot === null) return DELETED;
    const decision = call.decide(snapshot.parts);
    // A replay or a conflict takes precedence over the agent limit.
    if (!decision.opening && !decision.closing) return await withIdleClose(run, decision.outcome);
    const { closingVersion, agent: stored } = snapshot;
    const isNew = stored !== null && stored.rows.used === null;
    const used = isNew
      ? useAgent(team, stored.rows, stored.rows.archived ?? { created_at: receivedAt })
      : {};
    if ("code" in used) return { kind: "refused", problem: used };
    const { write, staged } = partsWrite(call, decision, closingVersion, used);
    const staging = new Staging(run);
    try {
      await staging.put(staged, receivedAt);
      if (await staging.commit(decision, write) === null) return LOST;
    } finally {
      await staging.remove();
    }
    this.#remember(call, decision);
    if (agent !== null) this.#known.add(team.id, agent, stored?.known ?? null);
    return decision.outcome;
  }

  #at({ team, id }: Call): RunRef {
    return { store: this.#store, team: team.id, id };
  }

  /** Caches a write. The cache never answers a request; it only selects the first attempt. */
  #remember({ id }: Call, { opening, closing }: Decision): void {
    if (opening !== undefined) this.#opened.add(id);
    if (closing !== undefined) this.#closed.add(id);
  }
}

/** Adds the idle close to the answer of a repeated call: no decision depends on it. */
async function withIdleClose(run: RunRef, outcome: Outcome): Promise<Outcome> {
  if (outcome.kind !== "replayed") return outcome;
  const { opening, closing } = outcome.parts;
  if (closing !== null || opening?.idleTimeoutSeconds === undefined) return outcome;
  const { head } = await readHead(run);
  return { ...outcome, parts: { opening, closing: head.parts.closing } };
}

/** Upper bound of an id's bytes in a set. */
const ID_BYTES = 120;

/** Number of sets; all but the latest are full. */
const GENERATIONS = 2;

/**
 * A bounded set that drops its oldest ids, a generation at a time. It stores only ids: on the path
 * of every write, inserting into a full cache took longer than preparing the write.
 */
export class RecentIds {
  /** Maximum ids of a generation. */
  readonly #max: number;
  #young = new Set<string>();
  #old = new Set<string>();

  /** Creates a set with at most this many bytes, of the last ids. */
  constructor(bytesMax: number) {
    this.#max = Math.max(1, Math.floor(bytesMax / GENERATIONS / ID_BYTES));
  }

  /** Bytes of all ids. */
  get bytes(): number {
    return ID_BYTES * (this.#young.size + this.#old.size);
  }

  /** Returns whether an id was added recently; older ids may have been dropped. */
  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  /** Adds an id, which must not be a slice of a longer string. */
  add(id: string): void {
    if (this.#young.size >= this.#max) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}
