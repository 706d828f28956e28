/**
 * Runs that pings without an id opened, so that a later ping without an id closes them (R23). One row
 * names those of an agent. It changes in the commit of the run, which checks it.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { DAY_MS } from "../../domain/core/time.ts";
import type { HeartbeatRequest } from "../../domain/runs/decide.ts";
import { STATUS_OF_HEARTBEAT, statusOf } from "../../domain/runs/run.ts";
import type { CappedOutcome, PingOutcome } from "../../domain/runs/run_store.ts";
import { BURST, KeyedMutex } from "../../runtime/fair_slots.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommittedInTime } from "../base/retry.ts";
import { getEntry, getValue, type Store } from "../store.ts";
import type { Write } from "../writer/group.ts";

/** Milliseconds for which a run is named after its latest ping. */
export const PINGS_NAMED_MS = DAY_MS;

/** Maximum runs that a row names; with the longest `rid` they take half of a value. */
const NAMED_MAX = 100;

/** A ping without an id. */
export interface Ping {
  readonly team: TeamId;
  /** Name that it gives its run. */
  readonly rid: string | undefined;
  /** The heartbeat; its id is for a run of its own. */
  readonly request: HeartbeatRequest;
  readonly receivedAt: number;
  /** Writes a run of its own. */
  readonly write: () => Promise<CappedOutcome>;
  /** Writes a heartbeat and other rows in one commit, or neither if the commit conflicts. */
  readonly writeWith: (
    request: HeartbeatRequest,
    others: Write,
  ) => Promise<CappedOutcome | typeof LOST>;
}

/** A run of a ping without an id. */
interface NamedRun {
  readonly id: RunId;
  /** Arrival of its latest ping, unix milliseconds. */
  readonly at: number;
  readonly rid: string | undefined;
  /** False once a ping closed it; then only its `rid` finds it. */
  readonly isOpen: boolean;
}

/** Writes pings without an id. Those of one agent that change its row take turns. */
export class OpenPings {
  readonly #store: Store;
  readonly #turns: KeyedMutex;

  constructor(store: Store) {
    this.#store = store;
    this.#turns = new KeyedMutex(store.deadlines, BURST);
  }

  /** Closes the newest run that a ping without an id opened and that is still open, else writes a run. */
  write(ping: Ping): Promise<PingOutcome> {
    const { team, request: { id, agent, status }, rid, receivedAt } = ping;
    const inTurn = async (work: () => Promise<PingOutcome>) => {
      if (rid === undefined && status !== "start") {
        const row = await getValue<NamedRun[]>(this.#store, keys.openPings(team, agent));
        const hasOpen = recent(row, receivedAt).some(({ isOpen }) => isOpen);
        if (!hasOpen) return { id, outcome: await ping.write() };
      }
      return await this.#turns.take(`${team} ${agent}`, work);
    };
    const attempt = () => this.#attempt(ping);
    return untilCommittedInTime("write a ping", this.#store.deadlines, attempt, inTurn);
  }

  async #attempt(ping: Ping): Promise<PingOutcome | typeof LOST> {
    const { team, request, rid, receivedAt, writeWith } = ping;
    const { id, agent, status } = request;
    const isStart = status === "start";
    const { key, value, versionstamp } = await getEntry(this.#store, keys.openPings(team, agent));
    let others = recent(value as NamedRun[] | null, receivedAt);
    const write = async (run: NamedRun, sent: HeartbeatRequest) => {
      const named = [run, ...others].filter(({ rid, isOpen }) => isOpen || rid !== undefined);
      // Open runs first: many ended ones never displace them.
      const value = [...named.filter(({ isOpen }) => isOpen), ...named.filter((run) => !run.isOpen)]
        .slice(0, NAMED_MAX);
      const sets = [{ key, value, expireIn: PINGS_NAMED_MS }];
      return await writeWith(sent, { checks: [{ key, versionstamp }], sets });
    };
    const isMeant = (run: NamedRun) => rid === undefined ? !isStart && run.isOpen : run.rid === rid;
    for (const run of others.filter(isMeant)) {
      others = others.filter((other) => other !== run);
      // The start of the run counts, as its first ping sent it.
      const sent = { ...request, id: run.id, startedAt: undefined };
      const outcome = await write({ ...run, at: receivedAt, isOpen: isStart }, sent);
      if (outcome === LOST) return LOST;
      // With a `rid`, the same status again is a retry. Another one is another run, so that no failure
      // is taken for a success.
      const isRetry = rid !== undefined && outcome.kind === "replayed" &&
        STATUS_OF_HEARTBEAT[status] === statusOf(outcome.parts);
      if (outcome.kind === "stored" || outcome.kind === "refused" || isRetry) {
        return { id: run.id, outcome };
      }
      // The run has ended in another way; its own `rid` still finds it.
      if (rid === undefined) others = [...others, { ...run, isOpen: false }];
    }
    const outcome = await write({ id, at: receivedAt, rid, isOpen: isStart }, request);
    return outcome === LOST ? LOST : { id, outcome };
  }
}

/** Returns the runs that a row still names. */
function recent(row: readonly NamedRun[] | null, nowMs: number): readonly NamedRun[] {
  return (row ?? []).filter(({ at }) => at >= nowMs - PINGS_NAMED_MS);
}
