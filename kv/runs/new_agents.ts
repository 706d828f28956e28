/**
 * Calls whose agent may be new. Each new agent changes its team's count of agents, so a team has one
 * such commit in progress; calls that arrive meanwhile share the next one.
 *
 * @module
 */
import type { Problem } from "../../domain/core/errors.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { Decision } from "../../domain/runs/decide.ts";
import { PENDING_LANES } from "../../domain/runs/processing.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { KnownTeam } from "../agents/known_agents.ts";
import { type AgentRows, useAgent } from "../agents/rows.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import type { BackEnd } from "../base/limits.ts";
import type { BlobWrite, Store } from "../store.ts";
import { keyText, sizeOf } from "../writer/group.ts";
import type { Write } from "../writer/write.ts";
import type { AgentSnapshot } from "./snapshot.ts";

/**
 * Requests that may wait for a new agent: after a start, all requests of a team wait until the
 * first of them has completed.
 */
const WAITS = { name: 1_024, all: 4_096 } as const;

/** A write request whose agent may be new. */
interface AgentCall {
  readonly team: Team;
  readonly id: RunId;
  readonly agent: string;
}

/** A call in the queue of its team. */
interface Queued<Call, Outcome> {
  readonly call: Call;
  /** Returns or throws what an earlier call's turn decided for it. */
  settled?: () => Outcome;
}

/** What the queue does with calls. */
interface Actions<Call, Outcome> {
  /** Returns whether the agent of a call is certainly active. */
  readonly isKnown: (call: Call) => boolean;
  /** Writes calls of different runs and agents; returns the outcomes of at least the first one. */
  readonly write: (calls: readonly Call[]) => Promise<ReadonlyMap<Call, Outcome>>;
}

/** The queues of all teams. */
export class NewAgentCalls<Call extends AgentCall, Outcome> {
  readonly #turns: KeyedMutex;
  readonly #actions: Actions<Call, Outcome>;
  readonly #callsMax: number;
  /** Calls without an outcome, in the order of their turns. */
  readonly #queues = new Map<TeamId, Set<Queued<Call, Outcome>>>();

  constructor(
    { deadlines, limits }: Pick<Store, "deadlines" | "limits">,
    actions: Actions<Call, Outcome>,
  ) {
    this.#turns = new KeyedMutex(deadlines, WAITS);
    this.#actions = actions;
    // A commit checks the count of agents, and both parts of most runs.
    this.#callsMax = Math.max(1, Math.floor((limits.checks - 1) / 2));
  }

  /** Writes a call; returns null without a write if its agent is known once it has its turn. */
  async run(call: Call): Promise<Outcome | null> {
    const team = call.team.id;
    const queue = this.#queues.get(team) ?? new Set();
    this.#queues.set(team, queue);
    const queued: Queued<Call, Outcome> = { call };
    queue.add(queued);
    try {
      return await this.#turns.take(team, async () => {
        queue.delete(queued);
        if (queued.settled === undefined && this.#actions.isKnown(call)) return null;
        if (queued.settled === undefined) await this.#write(this.#select(queued, queue), queue);
        return queued.settled?.() ?? null;
      });
    } finally {
      queue.delete(queued);
      if (queue.size === 0 && this.#queues.get(team) === queue) this.#queues.delete(team);
    }
  }

  /** Selects calls for one commit; calls of the same run or agent wait for its end. */
  #select(
    first: Queued<Call, Outcome>,
    queue: ReadonlySet<Queued<Call, Outcome>>,
  ): Queued<Call, Outcome>[] {
    const selected = [first];
    const runs = new Set([first.call.id]);
    const agents = new Set([first.call.agent]);
    for (const queued of queue) {
      if (selected.length >= this.#callsMax) break;
      const { call } = queued;
      if (runs.has(call.id) || agents.has(call.agent) || this.#actions.isKnown(call)) continue;
      selected.push(queued);
      runs.add(call.id);
      agents.add(call.agent);
    }
    return selected;
  }

  async #write(
    selected: readonly Queued<Call, Outcome>[],
    queue: Set<Queued<Call, Outcome>>,
  ): Promise<void> {
    const settle = (queued: Queued<Call, Outcome>, settled: () => Outcome) => {
      queued.settled = settled;
      queue.delete(queued);
    };
    try {
      const outcomes = await this.#actions.write(selected.map(({ call }) => call));
      for (const queued of selected) {
        const outcome = outcomes.get(queued.call);
        if (outcome !== undefined) settle(queued, () => outcome);
      }
    } catch (error) {
      // Whether the calls were stored is unknown, so none is repeated here.
      for (const queued of selected) {
        settle(queued, () => {
          throw error;
        });
      }
    }
  }
}

/** A call in a commit. */
interface Member<Call> {
  readonly call: Call;
  readonly decision: Decision;
  readonly known: KnownTeam | null;
}

/** Calls of one team that share a commit. */
export class AgentGroup<Call extends AgentCall> {
  readonly members: Member<Call>[] = [];
  /** Chunks to store before the commit. */
  staged: BlobWrite["staged"] = [];
  write: Write = {};
  /** True if all calls were read at the same count of agents. */
  isConsistent = true;
  readonly #limits: BackEnd;
  /** Version of the count of agents; undefined before the first new agent. */
  #countVersion: string | null | undefined;
  #newAgents = 0;
  #isFull = false;

  constructor(limits: BackEnd) {
    this.#limits = limits;
  }

  /** Returns the write that activates a call's agent after those of the members, or its refusal. */
  use(team: Team, rows: AgentRows, createdAt: number): Write | Problem {
    if (rows.used !== null) return {};
    const { versionstamp } = rows.entries[2];
    if (this.#countVersion === undefined) this.#countVersion = versionstamp;
    else if (this.#countVersion !== versionstamp) this.isConsistent = false;
    const counts = { ...rows.counts, used: rows.counts.used + this.#newAgents };
    return useAgent(team, { ...rows, counts }, rows.archived ?? { created_at: createdAt });
  }

  /** Adds a call, unless it does not fit or needs a commit of its own; the first one always fits. */
  add(
    call: Call,
    decision: Decision,
    { rows, known }: AgentSnapshot,
    { write, staged }: { readonly write: Write; readonly staged: BlobWrite["staged"] },
  ): void {
    const isFirst = this.members.length === 0;
    const isNew = rows.used === null;
    const isAlone = staged.length > 0 || (isNew && rows.archived !== null);
    const joined = joinWrites(this.write, write);
    if (!isFirst && (this.#isFull || isAlone || !this.#fits(joined))) return;
    this.members.push({ call, decision, known });
    this.write = joined;
    this.staged = staged;
    this.#isFull = isAlone;
    if (isNew) this.#newAgents++;
  }

  #fits(write: Write): boolean {
    const { checks, mutations, bytes, keyBytes } = sizeOf(write);
    return checks <= this.#limits.checks && bytes <= this.#limits.bytes &&
      keyBytes <= this.#limits.keyBytes &&
      mutations + PENDING_LANES.length <= this.#limits.mutations;
  }
}

/** Joins two writes; the second one's value of a key counts. */
export function joinWrites(a: Write, b: Write): Write {
  return {
    ...a,
    ...b,
    checks: lastOfEachKey([...a.checks ?? [], ...b.checks ?? []]),
    sums: [...a.sums ?? [], ...b.sums ?? []],
    sets: lastOfEachKey([...a.sets ?? [], ...b.sets ?? []]),
    deletes: [...a.deletes ?? [], ...b.deletes ?? []],
    pending: [...a.pending ?? [], ...b.pending ?? []],
  };
}

function lastOfEachKey<T extends { readonly key: Deno.KvKey }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [keyText(item.key), item])).values()];
}
