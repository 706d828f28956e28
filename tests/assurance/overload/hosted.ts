/** Overload of an instance with the environment, the KV and the heap of Deno Deploy. */
import { wrk } from "../../../bench/load.ts";
import { usageOf } from "../../../bench/process.ts";
import { print, say } from "../../../bench/report.ts";
import { keyOf } from "../../../bench/service.ts";
import { platformOf } from "../../../app/platform.ts";
import { keys } from "../../../kv/base/keys.ts";
import { number } from "../../../tools/table.ts";
import { KV_TOKEN, openRemote } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Process } from "../../support/harness/process.ts";

/** Heap limits that the runtime chooses on a machine with 512 MB. */
const HEAP = "--max-old-space-size=256,--max-semi-space-size=4";

/** Milliseconds between samples of the memory. */
const SAMPLE_MS = 200;

/** Loads an instance; returns whether it kept its memory target and every acknowledged run. */
export async function overloadHosted(connections: number, seconds: number): Promise<boolean> {
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
  let rssMb = 0;
  const sample = async () => rssMb = Math.max(rssMb, (await usageOf(service.pid))?.rssMb ?? 0);
  const timer = setInterval(sample, SAMPLE_MS);
  const { answered, requestsPerSecond } = await wrk([service], {
    call: "open",
    connections,
    seconds,
  });
  clearInterval(timer);
  const { code, ms } = await service.stop("SIGINT");
  const stored = await countOpenings(kv);
  const checks: [name: string, measured: string, met: boolean][] = [
    ["memory as on Deno Deploy", `${number(rssMb)} MB at maximum`, rssMb <= memoryMb],
    [
      "acknowledged and stored there",
      `${number(answered)} acknowledged, ${number(requestsPerSecond)} a second; ` +
      `${number(stored)} stored`,
      answered > 0 && stored >= answered,
    ],
    ["end there", `code ${code} after ${number(ms)} ms`, code === 0 && ms < drainMs + 500],
  ];
  for (const [name, measured, met] of checks) {
    print(`${met ? "met   " : "MISSED"} ${name}: ${measured}`);
  }
  return checks.every(([, , met]) => met);
}

async function countOpenings(server: KvServer): Promise<number> {
  using kv = await openRemote(server.url());
  let count = 0;
  for await (const { key } of kv.list({ prefix: keys.runs() }, { batchSize: 500 })) {
    if (key[3] === "opening") count++;
  }
  return count;
}
