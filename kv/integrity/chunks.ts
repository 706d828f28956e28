/**
 * Verifies chunks: each belongs to a value of its run, or to a write that is not committed yet.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { DAY_MS } from "../../domain/core/time.ts";
import type { SweepReport } from "../../domain/retention/sweep.ts";
import { chunksOf } from "../base/blob.ts";
import { groupsOf } from "../base/groups.ts";
import { keyParts, keys } from "../base/keys.ts";
import { GET_MANY_KEYS_MAX } from "../base/limits.ts";
import { numbersFrom } from "../runs/batches.ts";
import type { RunAt } from "../runs/heads.ts";
import { ledgerOf } from "../runs/tombstone.ts";
import type { StagedMark } from "../runs/staging.ts";
import { eachRow, getMany, getValue, listRows, namesBelow, type Store } from "../store.ts";
import { type Findings, NONE } from "./findings.ts";

/** Finds chunks of runs that nothing names, and staged ones that no sweep has removed. */
export async function verifyChunks(
  store: Store,
  findingsOf: (team: TeamId) => Findings | null,
): Promise<void> {
  for await (const key of namesBelow(store, keys.allChunks(), 2)) {
    const { team, run: id } = keyParts.chunk(key);
    const findings = findingsOf(team);
    if (findings !== null) await findStray({ store, team, id }, findings);
  }
  const options = { limit: 1, reverse: true };
  const [latest] = await listRows<SweepReport>(store, { prefix: keys.sweeps() }, options);
  if (latest === undefined || latest.value.finishedAt === null) return;
  for await (const { key, value } of eachRow<StagedMark>(store, { prefix: keys.allStaged() })) {
    if (value.at >= latest.value.startedAt - DAY_MS) continue;
    const { team, run } = keyParts.chunk(key);
    const found = `staged at ${new Date(value.at).toISOString()}`;
    findingsOf(team)?.note(`staged chunks of ${run}`, "removed", found);
  }
}

/**
 * Finds the chunks of a run that nothing names. The reads follow the order in which a write stores
 * and names them, so a write at the same time is no mismatch; nor is a removal.
 */
async function findStray(run: RunAt, findings: Findings): Promise<void> {
  const { store, team, id } = run;
  const stray = new Set<string>();
  for await (const key of namesBelow(store, keys.chunks(team, id), 1)) {
    stray.add(keyParts.blob(key));
  }
  for (const { value } of await listRows<StagedMark>(store, { prefix: keys.stagedOf(team, id) })) {
    for (const [name] of value.blobs) stray.delete(name);
  }
  for await (const name of namedBlobs(run)) stray.delete(name);
  for (const name of stray) {
    const [left] = await listRows(store, { prefix: keys.blob(team, id, name) }, { limit: 1 });
    const isPurged = await getValue(store, keys.purge(team, id)) !== null;
    if (left === undefined || isPurged) continue;
    findings.note(`chunks ${name} of ${id}`, "of a stored value", NONE);
  }
}

/** Yields the names of the blobs that the values of a run consist of. */
async function* namedBlobs({ store, team, id }: RunAt): AsyncGenerator<string> {
  const { removed, batches } = ledgerOf(await getValue(store, keys.ledger(team, id)));
  const values: Deno.KvKey[] = [keys.opening(team, id), keys.closing(team, id)];
  for (const number of numbersFrom(removed, batches)) {
    values.push(keys.batch(team, id, number), keys.prices(team, id, number));
  }
  for (const group of groupsOf(values, GET_MANY_KEYS_MAX)) {
    for (const { value } of await getMany(store, group)) {
      if (value instanceof Uint8Array) yield chunksOf(value).name;
    }
  }
}
