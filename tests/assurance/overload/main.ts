/**
 * `deno task assure overload`: puts far more load on the service than it can sustain, and measures
 * its behavior and recovery.
 */
import { uuid7Hex } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { openUnlocked } from "../../../kv/open.ts";
import { measure, wrk } from "../../../bench/load.ts";
import { type Side, startService, usageOf } from "../../../bench/process.ts";
import { print, say } from "../../../bench/report.ts";
import { number } from "../../../tools/table.ts";
import { keyOf } from "../../../bench/service.ts";
import { platformOf } from "../../../app/platform.ts";
import { KV_TOKEN, openRemote } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Process } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import type { AssuranceOptions } from "../assurance.ts";

/** Ten times as many connections as the top rate needs. */
const CONNECTIONS = { enough: 256, many: 2_560 } as const;
const BARS = { rssMb: 512, p99Ms: 250, normalMs: 5_000, normalP99Ms: 50 } as const;

/** Heap limits that the runtime chooses on a machine with 512 MB. */
const HEAP = "--max-old-space-size=256,--max-semi-space-size=4";

/** Milliseconds between samples of the memory. */
const SAMPLE_MS = 200;

/** Clients that probe the service, and their pause between probes. */
const PROBES = { clients: 16, pauseMs: 100 } as const;

interface Probe {
  readonly status: number;
  readonly ms: number;
  /**
   * True if the response was accepted, or one of the two allowed refusals with envelope and
   * Retry-After.
   */
  readonly proper: boolean;
}

/** Opens one run and checks the response. */
async function probe(side: Side): Promise<Probe> {
  const id = `run_eu_${uuid7Hex(Date.now(), crypto.getRandomValues(new Uint8Array(10)))}`;
  const startMs = performance.now();
  const response = await fetch(`${side.url}/v1/runs`, {
    method: "POST",
    headers: { Authorization: `Bearer ${keyOf(1)}` },
    body: JSON.stringify({ id, agent: "probe", started_at: new Date() }),
  });
  const { error } = await response.json();
  const { status, headers } = response;
  const refused = (status === 429 || status === 503) && typeof error === "string" &&
    (status === 429 || headers.has("retry-after"));
  return { status, ms: performance.now() - startMs, proper: status === 202 || refused };
}

async function probeFor(side: Side, ms: number): Promise<Probe[]> {
  const endMs = performance.now() + ms;
  const probes: Probe[] = [];
  await Promise.all(Array.from({ length: PROBES.clients }, async () => {
    while (performance.now() < endMs) {
      probes.push(await probe(side));
      await new Promise((resolve) => setTimeout(resolve, PROBES.pauseMs));
    }
  }));
  return probes;
}

function acceptedOf(probes: readonly Probe[]): Probe[] {
  return probes.filter(({ status }) => status === 202);
}

function percentile(probes: readonly Probe[], percent: number): number {
  const sorted = probes.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * percent / 100) - 1] ?? NaN;
}

/** Returns the 99th percentile of accepted probes in milliseconds. */
function p99Of(probes: readonly Probe[]): number {
  return percentile(acceptedOf(probes), 99);
}

/** Returns the maximum resident size of a process until some work has ended, in megabytes. */
async function watchMemory(pid: number, until: Promise<unknown>): Promise<number> {
  let maximum = 0;
  let over = false;
  until.finally(() => over = true);
  while (!over) {
    maximum = Math.max(maximum, (await usageOf(pid))?.rssMb ?? 0);
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  }
  return maximum;
}

async function countOpenings(reader: Pick<Deno.Kv, "list">): Promise<number> {
  let count = 0;
  for await (const { key } of reader.list({ prefix: keys.runs() }, { batchSize: 500 })) {
    if (key[3] === "opening") count++;
  }
  return count;
}

type Check = readonly [name: string, measured: string, met: boolean];

/** Prints the checks; returns whether all are met. */
function report(checks: readonly Check[]): boolean {
  for (const [name, measured, met] of checks) {
    print(`${met ? "met   " : "MISSED"} ${name}: ${measured}`);
  }
  return checks.every(([, , met]) => met);
}

async function overload(folder: string, seconds: number): Promise<boolean> {
  const file = `${folder}/overload.kv`;
  const measurements = await (async () => {
    await using side = await startService(file);
    say("the top rate …");
    const top = await measure([side], {
      call: "open",
      connections: CONNECTIONS.enough,
      seconds: 5,
    });
    say(`${CONNECTIONS.many} connections for ${seconds} s …`);
    const load = wrk([side], { call: "open", connections: CONNECTIONS.many, seconds });
    const [loaded, probes, rssMb] = await Promise.all([
      load,
      probeFor(side, seconds * 1000),
      watchMemory(side.pid, load),
    ]);
    say("afterwards …");
    await new Promise((resolve) => setTimeout(resolve, BARS.normalMs));
    return { top, loaded, probes, rssMb, after: await probeFor(side, 3_000) };
  })();
  const { top, loaded, probes, rssMb, after } = measurements;
  const store = await openUnlocked(file);
  const stored = await countOpenings(store.reader);
  await store.close();
  const refused = probes.filter(({ status }) => status !== 202);
  const improper = probes.filter(({ proper }) => !proper).length;
  const checks: Check[] = [
    ["memory", `${number(rssMb)} MB at maximum`, rssMb < BARS.rssMb],
    ["refusals are 429 or 503 in their envelope", `${improper} were not`, improper === 0],
    [
      "accepted p99",
      `${number(p99Of(probes))} ms (p50 ${number(percentile(acceptedOf(probes), 50))}) of ` +
      `${number(acceptedOf(probes).length)}; refused within ` +
      `${number(percentile(refused, 50))} ms in the median`,
      p99Of(probes) < BARS.p99Ms,
    ],
    [
      "acknowledged and stored",
      `${number(loaded.answered)} acknowledged under load, ${number(stored)} stored in all`,
      stored >= loaded.answered + top.answered,
    ],
    [
      `p99 ${BARS.normalMs / 1000} s later`,
      `${number(p99Of(after), 1)} ms`,
      p99Of(after) < BARS.normalP99Ms,
    ],
  ];
  print(
    `top rate ${number(top.requestsPerSecond)} a second; under load ` +
      `${number(loaded.requestsPerSecond)} accepted a second, ${
        number(loaded.failures)
      } refused or lost`,
  );
  return report(checks);
}

/** Loads an instance as on Deno Deploy; returns whether it kept its memory target and every acknowledged run. */
async function overloadHosted(connections: number, seconds: number): Promise<boolean> {
  const { memoryMb, drainMs } = platformOf({ DENO_DEPLOY: "1" });
  await using kv = await KvServer.start();
  const settings = {
    DENO_DEPLOY: "1",
    DENO_KV_DEFAULT_PATH: kv.url(),
    DENO_KV_ACCESS_TOKEN: KV_TOKEN,
    DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
    DENO_V8_FLAGS: HEAP,
    RUNLEDGER_REGION: "eu",
    RUNLEDGER_KEY: keyOf(1),
    RUNLEDGER_TIER: "enterprise",
  };
  await using service = await Process.startLogging(settings, () => {});
  say(`as on Deno Deploy: ${connections} connections for ${seconds} s …`);
  const load = wrk([service], { call: "open", connections, seconds });
  const [{ answered, requestsPerSecond }, rssMb] = await Promise.all([
    load,
    watchMemory(service.pid, load),
  ]);
  const { code, ms } = await service.stop("SIGINT");
  using reader = await openRemote(kv.url());
  const stored = await countOpenings(reader);
  return report([
    ["memory as on Deno Deploy", `${number(rssMb)} MB at maximum`, rssMb <= memoryMb],
    [
      "acknowledged and stored there",
      `${number(answered)} acknowledged, ${number(requestsPerSecond)} a second; ` +
      `${number(stored)} stored`,
      answered > 0 && stored >= answered,
    ],
    ["end there", `code ${code} after ${number(ms)} ms`, code === 0 && ms < drainMs + 500],
  ]);
}

/** Loads a service for `count` seconds, on a file and as on Deno Deploy; a part names one of them. */
export async function run({ count, parts }: AssuranceOptions): Promise<boolean> {
  const wants = (part: string) => parts.length === 0 || parts.includes(part);
  const onFile = !wants("file") || await withFolder((folder) => overload(folder, count));
  const hosted = !wants("deploy") || await overloadHosted(CONNECTIONS.many, count);
  return onFile && hosted;
}
