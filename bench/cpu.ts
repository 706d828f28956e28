/**
 * CPU microseconds a request of this tree and of another checkout, in turns on one machine: for small
 * changes of cost that rates do not show.
 *
 * Usage: cpu.ts OTHER_CHECKOUT [ROUNDS] [REQUESTS]
 */
import { print } from "./say.ts";
import { median } from "./stats.ts";

const [other = "", rounds = "12", count = "3000"] = Deno.args;
if (other === "") throw new Error("Name the checkout to compare with");
const HERE = new URL("..", import.meta.url).pathname;
const KEY = "apk_eu_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const REQUESTS = Number(count);
const CONNECTIONS = 32;

/** Requests of each kind, of the same runs in this order. */
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

/** A running service of one checkout. */
interface Side {
  readonly child: Deno.ChildProcess;
  readonly url: string;
  readonly medians: Map<string, number[]>;
}

async function start(folder: string): Promise<Side> {
  const ledger = await Deno.makeTempDir({ prefix: "runledger-cpu-" });
  const child = new Deno.Command(Deno.execPath(), {
    args: "run --frozen --no-prompt --v8-flags=--heap-growing-percent=60 -N -E -R -W main.ts"
      .split(" "),
    cwd: folder,
    env: {
      PORT: "0",
      RUNLEDGER_KV: `${ledger}/ledger.kv`,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_TIER: "business",
      NO_COLOR: "1",
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${folder} did not start: ${said}`);
    said += value;
    const url = /listens on (http:\/\/\S+?),/.exec(said)?.[1];
    if (url === undefined) continue;
    void (async () => {
      while (!(await reader.read()).done);
    })();
    return { child, url, medians: new Map(KINDS.map(([kind]) => [kind, []])) };
  }
}

/** Nanoseconds on a processor so far, of all threads. */
async function cpuNs(pid: number): Promise<number> {
  let ns = 0;
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    const text = await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`).catch(() => "0");
    ns += Number(text.split(" ")[0]);
  }
  return ns;
}

/** Waits until the process has done nothing for a while: the worker rests between its turns. */
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

async function send({ url }: Side, requestOf: (n: number) => [string, unknown]): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < REQUESTS) {
      const [path, body] = requestOf(next++);
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

const sides = [await start(other), await start(HERE)] as const;
try {
  for (let round = 0; round <= Number(rounds); round++) {
    const ids = Array.from(
      { length: REQUESTS },
      () => `run_eu_f${crypto.randomUUID().replaceAll("-", "").slice(1)}`,
    );
    for (const [kind, requestOf] of KINDS) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const before = await quiet(side.child.pid);
        await send(side, (n) => requestOf(ids[n] ?? ""));
        const ns = await quiet(side.child.pid) - before;
        // The first round warms up.
        if (round > 0) side.medians.get(kind)?.push(ns / REQUESTS / 1_000);
      }
    }
  }
  for (const [kind] of KINDS) {
    const [before, after] = sides.map(({ medians }) => medians.get(kind) ?? []);
    const ratios = (after ?? []).map((us, n) => us / (before?.[n] ?? NaN));
    print(
      `${kind.padEnd(10)} before ${median(before ?? []).toFixed(1)} µs, ` +
        `after ${median(after ?? []).toFixed(1)} µs, ratio ${median(ratios).toFixed(3)}`,
    );
  }
} finally {
  for (const { child } of sides) child.kill("SIGKILL");
}
