/**
 * Runs that pings without an id opened, so that a later ping without an id closes them (R23). Two
 * pings that race for one run are decided by its close, which is written once.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { DAY_MS } from "../../domain/core/time.ts";
import type { HeartbeatRequest } from "../../domain/runs/decide.ts";
import { heartbeatStatusOf, statusOf } from "../../domain/runs/run.ts";
import type { CappedOutcome, PingOutcome } from "../../domain/runs/store.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getValue, listRows, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** Milliseconds from a `start` within which a ping closes its run; its rows expire then. */
const OPEN_MS_MAX = DAY_MS;

/** Newest runs that a ping tries to close; rows of those that ended otherwise are removed. */
const TRIED_MAX = 10;

/** A ping without an id. */
export interface Ping {
  readonly store: Store;
  /** Its agent, and the name that it gives its run. */
  readonly at: { readonly team: TeamId; readonly agent: string; readonly rid: string | undefined };
  /** The heartbeat; its id is for a run of its own. */
  readonly request: HeartbeatRequest;
  readonly receivedAt: number;
  /** Writes the heartbeat to a run, and other rows in the same commit. */
  readonly write: (id: RunId, others: Write) => Promise<CappedOutcome>;
}

/** A run that a ping opened. */
interface OpenPing {
  readonly id: RunId;
  /** Arrival of the ping, unix milliseconds. */
  readonly at: number;
}

/** Closes the newest run that a ping without an id opened and that is still open, else writes a run. */
export async function writePing(ping: Ping): Promise<PingOutcome> {
  const { at: { team, agent, rid }, request: { id, status }, write } = ping;
  const ended: Deno.KvKey[] = [];
  for (const open of await findOpenPings(ping)) {
    const key = keys.openPing(team, agent, open.at, open.id);
    const outcome = await write(open.id, { deletes: [...ended, key] });
    // With a `rid`, the same status again is a retry. Another one is another run, so that no failure
    // is taken for a success.
    const isRetry = rid !== undefined && outcome.kind === "replayed" &&
      heartbeatStatusOf(statusOf(outcome.parts)) === status;
    if (outcome.kind === "stored" || outcome.kind === "refused" || isRetry) {
      return { id: open.id, outcome };
    }
    const hasOtherStart = outcome.kind === "conflict" && outcome.field === "started_at";
    // Else the run has ended in another way.
    if (!hasOtherStart) ended.push(key);
  }
  const sets = status === "start" ? openPingRows(ping) : [];
  return { id, outcome: await write(id, { sets, deletes: ended }) };
}

/** Reads the runs that a ping may belong to, newest first: with `rid` the latest one of that name. */
async function findOpenPings({ store, at, request, receivedAt }: Ping): Promise<OpenPing[]> {
  const { team, agent, rid } = at;
  const since = receivedAt - OPEN_MS_MAX;
  if (rid !== undefined) {
    const named = await getValue<OpenPing>(store, keys.namedPing(team, agent, rid));
    return named === null || named.at < since ? [] : [named];
  }
  if (request.status === "start") return [];
  const range = keys.openPingsFrom(team, agent, since);
  const rows = await listRows(store, range, { limit: TRIED_MAX, reverse: true });
  return rows.map(({ key }) => ({ id: keyParts.run(key), at: keyParts.position(key) }));
}

/** Returns the rows of a run that a ping opens. */
function openPingRows({ at: { team, agent, rid }, request: { id }, receivedAt }: Ping) {
  const expireIn = OPEN_MS_MAX;
  const open = { key: keys.openPing(team, agent, receivedAt, id), value: true, expireIn };
  if (rid === undefined) return [open];
  const value: OpenPing = { id, at: receivedAt };
  return [open, { key: keys.namedPing(team, agent, rid), value, expireIn }];
}
