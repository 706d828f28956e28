/**
 * Compares CPU microseconds a request between this tree and another checkout, alternating on one
 * machine, for differences too small to show in rates.
 */
import { UsageError } from "../tools/command.ts";
import { number, table } from "../tools/table.ts";
import { denoArguments, Output, spawn } from "./process.ts";
import { type Bar, type BenchOptions, print } from "./report.ts";
import { median, rotate } from "./stats.ts";

const HERE = new URL("..", import.meta.url).pathname;
const KEY = "apk_eu_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const CONNECTIONS = 32;

/** Requests by kind; each run is sent in this order. */
const KINDS: readonly [string, (run: string) => [string, unknown]][] = [
  ["open", (run) => ["/v1/runs", { id: run, agent: "a", started_at: "2026-01-01T00:00:00.000Z" }]],
  ["events", (run) => [`/v1/runs/${run}/events`, {
    events: Array.from({ length: 10 }, (_, n) => ({
      id: `evt_eu_${run.slice(7, 37)}${n.toString(16).padStart(2, "0")}`,
      type: "llm_call",
      ts: "2026-01-01T00:00:01.000Z",
      data: { provider: "openai", model: "gpt-4o", input_tokens: 100, output_tokens: 20 },
    })),
  }]],
  ["finish", (run) => [`/v1/runs/${run}/finish`, {
    status: "success",
    finished_at: "2026-01-01T00:00:02.000Z",
    output: { answer: 42 },
  }]],
  ["heartbeat", (run) => ["/v1/heartbeats", { id: run.replace("_eu_f", "_eu_e"), agent: "a" }]],
];

/** A running service of a checkout. */
interface Checkout {
  readonly pid: number;
  readonly url: string;
  /** Microseconds a request, by kind and round. */
  readonly us: Map<string, number[]>;
}

/** Compares both checkouts by kind. It has no bar: the acceptable cost depends on the change. */
export async function bench(
  { folder, rounds = 12, runs = 3_000, rest }: BenchOptions,
): Promise<Bar[]> {
  const [other] = rest;
  if (other === undefined) {
    throw new UsageError("Name the checkout to compare with: bench cpu CHECKOUT");
  }
  const before = await start(other, `${folder}/before.kv`);
  const after = await start(HERE, `${folder}/after.kv`);
  for (let round = 0; round <= rounds; round++) {
    const ids = Array.from(
      { length: runs },
      () => `run_eu_f${crypto.randomUUID().replaceAll("-", "").slice(1)}`,
    );
    for (const [kind, requestOf] of KINDS) {
      for (const checkout of rotate([before, after], round)) {
        const idleNs = await quiet(checkout.pid);
        await send(checkout, ids.map(requestOf));
        const ns = await quiet(checkout.pid) - idleNs;
        if (round > 0) checkout.us.get(kind)?.push(ns / runs / 1_000);
      }
    }
  }
  const rows = KINDS.map(([kind]) => {
    const [old, now] = [before.us.get(kind) ?? [], after.us.get(kind) ?? []];
    const ratios = now.map((us, n) => us / (old[n] ?? NaN));
    return [kind, number(median(old), 1), number(median(now), 1), number(median(ratios), 3)];
  });
  print(table(["call", "before, µs", "after, µs", "ratio"], rows));
  return [];
}

async function start(cwd: string, file: string): Promise<Checkout> {
  const env = {
    PORT: "0",
    RUNLEDGER_KV: file,
    RUNLEDGER_KEY: KEY,
    RUNLEDGER_TIER: "business",
    NO_COLOR: "1",
  };
  const args = denoArguments("-N", "-E", "-R", "-W", "main.ts");
  const child = spawn(Deno.execPath(), args, { cwd, env, stdout: "null" });
  const output = new Output(child.stderr);
  const url = (await output.match(/listens on (http:\/\/\S+?),/))?.[1];
  if (url === undefined) throw new Error(`${cwd} did not start: ${output.text}`);
  return { pid: child.pid, url, us: new Map(KINDS.map(([kind]) => [kind, []])) };
}

/** Returns the CPU nanoseconds of all threads so far. */
async function cpuNs(pid: number): Promise<number> {
  let ns = 0;
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    const text = await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`).catch(() => "0");
    ns += Number(text.split(" ")[0]);
  }
  return ns;
}

/** Waits until the process is idle: the worker pauses between its batches. */
async function quiet(pid: number): Promise<number> {
  let before = await cpuNs(pid);
  for (let idle = 0; idle < 6;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = await cpuNs(pid);
    idle = now - before < 2_500_000 ? idle + 1 : 0;
    before = now;
  }
  return before;
}

async function send(
  { url }: Checkout,
  requests: readonly (readonly [string, unknown])[],
): Promise<void> {
  const queue = requests.values();
  const client = async () => {
    for (const [path, body] of queue) {
      const answer = await fetch(url + path, {
        method: "POST",
        headers: { Authorization: `Bearer ${KEY}` },
        body: JSON.stringify(body),
      });
      await answer.body?.cancel();
      if (answer.status !== 202) throw new Error(`${path}: ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
}
