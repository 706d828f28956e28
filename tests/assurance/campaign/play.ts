/** Plays one attack on a new service with little memory, while a second team works. */
import { usageOf } from "../../../bench/process.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { openStore } from "../../../kv/open.ts";
import { Memory } from "../../../runtime/memory.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { Process } from "../../support/harness/process.ts";
import { type Attack, delay } from "./attacker.ts";
import type { Attacked, AttackOrder } from "./attacking.ts";
import type { Measured, Noticed } from "./judge.ts";
import { Peer } from "./peer.ts";

/** Memory flags of a small machine, in addition to those of `deno task start`. */
const V8_FLAGS = "--heap-growing-percent=60,--max-old-space-size=512";

/** Writes the log to a file: reading it line by line would take processor time from the service. */
const TO_FILE = 'exec "$@" >>"$0"';

/** Milliseconds between memory samples. */
const SAMPLE_MS = 100;

/** Maximum milliseconds for a response of `/healthz`. */
const HEALTH_MS_MAX = 2_000;

/** A team and one of its keys, with every scope. */
interface Team {
  readonly id: TeamId;
  readonly key: string;
}

/** Sets up an attack, runs it for `seconds`, and returns the measurements. */
export async function play(attack: Attack, seconds: number, folder: string): Promise<Measured> {
  const path = `${folder}/ledger.kv`;
  const start = () =>
    Process.startBy(["sh", "-c", TO_FILE, `${folder}/log.ndjson`], {
      RUNLEDGER_KV: path,
      RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY,
      DENO_V8_FLAGS: V8_FLAGS,
    });
  // The attacker sorts first in lists of teams, which favors it wherever teams are served in order.
  let teams: Team[], stored: readonly string[];
  {
    await using process = await start();
    const { url } = process;
    teams = [await createTeam(url), await createTeam(url)].sort((a, b) => a.id < b.id ? -1 : 1);
    stored = await setUp(attack, url, teams[0] as Team);
    await process.stop();
  }
  const [attacker, victim] = teams as [Team, Team];
  if (attack.fill !== undefined) {
    const store = await openStore(path, new Memory());
    await attack.fill(store, attacker.id);
    await store.close();
  }
  await using process = await start();
  const { url } = process;
  using second = await Peer.start<Noticed>("victim.ts", { url, key: victim.key });
  const order: AttackOrder = { url, key: attacker.key, name: attack.name, stored };
  using first = await Peer.start<Attacked>("attacking.ts", order);
  return await measure(process, first, second, seconds);
}

/** Stores the data that the attack needs on the plan enterprise, and puts the team on free. */
async function setUp(attack: Attack, url: string, { id, key }: Team): Promise<readonly string[]> {
  const putOn = (tier: string) => operate(url, "PATCH", `/v1/teams/${id}`, { tier });
  await putOn("enterprise");
  const order: AttackOrder = { url, key, name: attack.name, stored: null };
  using peer = await Peer.start<readonly string[]>("attacking.ts", order);
  const stored = await peer.done();
  await putOn("free");
  return stored;
}

async function measure(
  process: Process,
  first: Peer<Attacked>,
  second: Peer<Noticed>,
  seconds: number,
): Promise<Measured> {
  const over = new AbortController();
  const sampling = sample(process.pid, over.signal);
  let ended: string | null = null;
  const startMs = performance.now();
  process.ended().then(({ code, signal, stderr }) => {
    if (over.signal.aborted) return;
    const after = ((performance.now() - startMs) / 1_000).toFixed(1);
    const line = stderr.split("\n").findLast((line) => /fatal|panic|error/i.test(line)) ?? "";
    ended = `${signal ?? `code ${code}`} after ${after} s ${line.trim().slice(0, 160)}`.trim();
    over.abort();
  });
  await delay(seconds * 1_000, over.signal);
  const [attacked, noticed] = await Promise.all([first.stop(), second.stop()]);
  const isHealthy = await answersHealth(process.url);
  over.abort();
  return { attacked, noticed, rssMb: await sampling, ended, isHealthy };
}

/** Returns the maximum resident size until the signal aborts, in megabytes. */
async function sample(pid: number, signal: AbortSignal): Promise<number> {
  let maximum = 0;
  while (!signal.aborted) {
    maximum = Math.max(maximum, (await usageOf(pid))?.rssMb || 0);
    await delay(SAMPLE_MS, signal);
  }
  return maximum;
}

async function answersHealth(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(HEALTH_MS_MAX) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

async function createTeam(url: string): Promise<Team> {
  const { id, key } = await operate(url, "POST", "/v1/teams", { name: "Acme", tier: "business" });
  return { id, key: key.secret };
}

async function operate(url: string, method: string, path: string, body: unknown) {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };
  const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  if (response.ok) return await response.json();
  throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}
