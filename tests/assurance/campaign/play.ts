/** Plays one attack on a new service while a second team works. */
import { usageOf } from "../../../bench/process.ts";
import type { Attack } from "./attack.ts";
import type { Attacked, AttackOrder } from "./attacking.ts";
import type { MemoryGroup } from "./cgroup.ts";
import { Child } from "./child.ts";
import { delay } from "./delay.ts";
import { judge, lineOf, type Measured } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import type { Noticed } from "./victim.ts";

/** Milliseconds between memory samples. */
const SAMPLE_MS = 100;

/** Maximum milliseconds for a response of `/healthz`. */
const HEALTH_MS_MAX = 2_000;

/** Result of an attack. */
export interface Played {
  readonly name: string;
  readonly finding: string | null;
  readonly seen: Measured;
  readonly line: string;
  /** Missed bars. */
  readonly broken: readonly string[];
}

/** Sets up an attack, runs it for `seconds`, and judges the measurements. */
export async function play(
  attack: Attack,
  seconds: number,
  folder: string,
  group: MemoryGroup | null,
): Promise<Played> {
  await using ledger = await Ledger.create(folder, group);
  const state = await setUp(attack, ledger);
  const seen = await fight(attack, state, ledger, seconds);
  return {
    name: attack.name,
    finding: attack.finding,
    seen,
    line: lineOf(seen),
    broken: judge(seen),
  };
}

/** Stores the data that the attack needs, then restarts the service. */
async function setUp(attack: Attack, ledger: Ledger): Promise<unknown> {
  let state: unknown;
  if (attack.setUp !== undefined) {
    await ledger.putAttackerOn("enterprise");
    await using child = await Child.start<unknown>("attacking.ts", orderOf(attack, ledger));
    state = await child.done();
  }
  await ledger.putAttackerOn("free");
  if (attack.setUp !== undefined || attack.fill !== undefined) await ledger.restart(attack.fill);
  return state;
}

function orderOf({ name }: Attack, ledger: Ledger): AttackOrder {
  return { ...ledger.target(ledger.attacker), name };
}

async function fight(
  attack: Attack,
  state: unknown,
  ledger: Ledger,
  seconds: number,
): Promise<Measured> {
  const { process } = ledger;
  await using victim = await Child.start<Noticed>("victim.ts", ledger.target(ledger.victim));
  const order = { ...orderOf(attack, ledger), state: { of: state } } satisfies AttackOrder;
  await using attacker = await Child.start<Attacked>("attacking.ts", order);
  const over = new AbortController();
  const sampling = sample(process.pid, over.signal);
  let ended: string | null = null;
  const startMs = performance.now();
  process.ended().then(({ code, signal, stderr }) => {
    if (over.signal.aborted) return;
    const after = ((performance.now() - startMs) / 1_000).toFixed(1);
    ended = `${signal ?? `code ${code}`} after ${after} s ${lastErrorOf(stderr)}`.trim();
    over.abort();
  });
  await delay(seconds * 1_000, over.signal);
  const [attacked, noticed] = await Promise.all([attacker.stop(), victim.stop()]);
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

/** Returns the runtime's last error line. */
function lastErrorOf(stderr: string): string {
  const line = stderr.split("\n").findLast((line) => /fatal|panic|error/i.test(line));
  return line === undefined ? "" : `(${line.trim().slice(0, 160)})`;
}
