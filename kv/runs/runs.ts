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
  type HeartbeatRequest,
} from "../../domain/runs/decide.ts";
import type { RunId } from "../../domain/core/ids.ts";
import type { CappedOutcome, RunStore } from "../../domain/runs/store.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import type { RunParts } from "../../domain/runs/run.ts";
import { inTime } from "../base/deadline.ts";
import { pendingName } from "../writer/pending_mark.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { readHead } from "./heads.ts";
import { OpenHeartbeats } from "./open_heartbeats.ts";
import { type Call, partsWrite } from "./parts_write.ts";
import { writePing } from "./open_pings.ts";
import { RecentIds } from "./recent_ids.ts";
import { stage, type Store, unstage } from "../store.ts";
import type { KnownAgents } from "../agents/known_agents.ts";
import { AgentGroup, joinWrites, NewAgentCalls } from "./new_agents.ts";
import { readSnapshot, readWithAgent } from "./snapshot.ts";
import type { Write } from "../writer/write.ts";

const NO_PARTS: RunParts = { opening: null, closing: null };

/** A write request whose agent may be new. */
interface NewAgentCall extends Call {
  readonly agent: string;
}

/** Creates the operations of {@link RunStore} that open and close runs. */
export function createRuns(
  store: Store,
  cards: RateCards,
  known: KnownAgents,
): Pick<RunStore, "open" | "finish" | "heartbeat" | "ping"> {
  const writer = new RunWriter(store, known);
  const withCard = <T>(team: Team, write: (card: RateCard) => Promise<T>): Promise<T> => {
    const card = cards.card(team);
    return card instanceof Promise ? inTime(card, store.deadlines).then(write) : write(card);
  };
  return {
    open(team, request, receivedAt) {
      const decide = (parts: RunParts) => decideOpen(parts, request, receivedAt);
      return writer.write({ team, id: request.id, receivedAt, agent: request.agent, decide });
    },
    heartbeat: (team, request, receivedAt) =>
      withCard(
        team,
        (card) => writer.writeHeartbeat(heartbeatCall(team, request, receivedAt, card)),
      ),
    ping: (team, request, rid, receivedAt) =>
      withCard(team, (card) => {
        const write = (id: RunId, others: Write) => {
          const call = heartbeatCall(team, { ...request, id }, receivedAt, card);
          return writer.writeHeartbeat({ ...call, others });
        };
        const at = { team: team.id, agent: request.agent, rid };
        return inTime(writePing({ store, at, request, receivedAt, write }), store.deadlines);
      }),
    async finish(team, id, request, receivedAt) {
      const decide = (parts: RunParts) => decideFinish(parts, request, receivedAt);
      const outcome = await writer.write({ team, id, receivedAt, agent: null, decide });
      // Only a new agent can be refused, and a finish has no agent.
      if (outcome.kind === "refused") throw new TypeError("A finish cannot reach the agent cap");
      return outcome;
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
  readonly #openHeartbeats: OpenHeartbeats;
  readonly #newAgents: NewAgentCalls<NewAgentCall, CappedOutcome>;

  constructor(store: Store, known: KnownAgents) {
    this.#store = store;
    this.#known = known;
    this.#newAgents = new NewAgentCalls(store, {
      isKnown: ({ team, agent }) => known.has(team.id, agent),
      write: (calls) => this.#writeTogether(calls),
    });
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
    if (agent !== null && !this.#known.hasOrRecheck(team.id, agent)) {
      return inTime(this.#writeWithNewAgent({ ...call, agent }), this.#store.deadlines);
    }
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

  /** Writes a heartbeat. Its run is assumed to be as the heartbeat that opened it left it. */
  writeHeartbeat(call: Call): Promise<CappedOutcome> {
    const opening = this.#openHeartbeats.get(nameOf(call), call.receivedAt);
    return this.write(call, opening === undefined ? NO_PARTS : { opening, closing: null });
  }

  /** Writes a request after reading the stored state, for the few that need it. */
  #writeStored(call: Call): Promise<CappedOutcome> {
    return inTime(this.#writeReading(call), this.#store.deadlines);
  }

  /** Writes a call together with others that wait; one whose agent is known by then needs no turn. */
  async #writeWithNewAgent(call: NewAgentCall): Promise<CappedOutcome> {
    return await this.#newAgents.run(call) ?? await this.write(call);
  }

  /** Reads, decides and commits until there is no conflict. */
  #writeReading(call: Call): Promise<CappedOutcome> {
    const { team, id } = call;
    return untilCommitted("write a run", async () => {
      const snapshot = await readSnapshot(this.#store, team, id);
      if (snapshot === null) return DELETED;
      const decision = call.decide(snapshot.parts);
      if (!decision.opening && !decision.closing) {
        return await withIdleCloseOf(this.#store, call, decision.outcome);
      }
      const { write, staged } = partsWrite(call, decision, snapshot.rows);
      await stage(this.#store, team.id, staged);
      if (await this.#commit(call, decision, write) !== null) {
        this.#remember(call, decision);
        return decision.outcome;
      }
      await unstage(this.#store, team.id, staged);
      return LOST;
    });
  }

  /**
   * Like {@link #writeReading} for calls of one team whose agents may be new: as many as fit in one
   * commit, at least the first one.
   */
  #writeTogether(calls: readonly NewAgentCall[]): Promise<Map<NewAgentCall, CappedOutcome>> {
    return untilCommitted("write a run", async () => {
      const reads = calls.map((call) => readWithAgent(this.#store, this.#known, call));
      const snapshots = await Promise.all(reads);
      const group = new AgentGroup<NewAgentCall>(this.#store.limits);
      const outcomes = new Map<NewAgentCall, CappedOutcome>();
      for (const [i, call] of calls.entries()) {
        const snapshot = snapshots[i] ?? null;
        const outcome = snapshot === null ? DELETED : addTo(group, call, snapshot);
        if (outcome === null) continue;
        outcomes.set(call, await withIdleCloseOf(this.#store, call, outcome));
      }
      if (!group.isConsistent) return LOST;
      const isStored = group.members.length === 0 || await this.#commitGroup(group) !== null;
      if (!isStored) return LOST;
      for (const { call, decision, known } of group.members) {
        this.#remember(call, decision);
        this.#known.add(call.team.id, call.agent, known);
        outcomes.set(call, decision.outcome);
      }
      return outcomes;
    });
  }

  async #commitGroup({ members, write, staged }: AgentGroup<NewAgentCall>): Promise<string | null> {
    const team = members[0]!.call.team.id;
    await stage(this.#store, team, staged);
    const { heads, writer } = this.#store;
    const commit = members.reduceRight(
      (inner, { call, decision }) => () => heads.noting(team, call.id, decision, inner),
      () => writer.commit(write),
    );
    const version = await commit();
    if (version === null) await unstage(this.#store, team, staged);
    return version;
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

/** Adds the idle close to the answer of a repeated call: no decision depends on it. */
async function withIdleCloseOf(
  store: Store,
  { team, id }: Call,
  outcome: CappedOutcome,
): Promise<CappedOutcome> {
  if (outcome.kind !== "replayed") return outcome;
  const { opening, closing } = outcome.parts;
  if (closing !== null || opening?.idleTimeoutSeconds === undefined) return outcome;
  const { head } = await readHead({ store, team: team.id, id });
  return { ...outcome, parts: { opening, closing: head.parts.closing } };
}

/** Returns a run's name, unique across teams. */
function nameOf({ team, id }: Call): string {
  return pendingName(team.id, id);
}

/**
 * Adds a call to a group if it fits; returns its outcome if it needs no commit.
 *
 * @returns null if the outcome depends on a commit
 */
function addTo(
  group: AgentGroup<NewAgentCall>,
  call: NewAgentCall,
  { parts, rows, agent }: NonNullable<Awaited<ReturnType<typeof readWithAgent>>>,
): CappedOutcome | null {
  const decision = call.decide(parts);
  // A replay or a conflict takes precedence over the agent limit.
  if (!decision.opening && !decision.closing) return decision.outcome;
  const used = group.use(call.team, agent.rows, call.receivedAt);
  if ("code" in used) return { kind: "refused", problem: used };
  const { write, staged } = partsWrite(call, decision, rows);
  group.add(call, decision, agent, { write: joinWrites(used, write), staged });
  return null;
}
