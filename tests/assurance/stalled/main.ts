/**
 * `deno task assure stalled`: opens thousands of connections that send half a request and then
 * nothing, and measures the effect on other clients.
 */
import { type Load, measure } from "../../../bench/load.ts";
import { type Side, startService, usageOf } from "../../../bench/process.ts";
import { print, say } from "../../../bench/report.ts";
import { number } from "../../../tools/table.ts";
import { keyOf } from "../../../bench/service.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import type { AssuranceOptions } from "../assurance.ts";

/** Limit of the 99th percentile of other clients' calls. */
const P99_MS_MAX = 25;
/** About a tenth of the top rate: the test measures waits, not work. */
const LOAD: Load = { call: "open", connections: 32, seconds: 10, pauseMs: 16 };

/** Opens connections whose bodies never end. */
async function stall(side: Side, count: number): Promise<Deno.TcpConn[]> {
  const { hostname, port } = new URL(side.url);
  const head = `POST /v1/runs HTTP/1.1\r\nHost: ${hostname}:${port}\r\n` +
    `Authorization: Bearer ${keyOf(1)}\r\nContent-Length: 1000\r\n\r\n{"id":`;
  const bytes = new TextEncoder().encode(head);
  const connections: Deno.TcpConn[] = [];
  for (let n = 0; n < count; n++) {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(bytes);
    connections.push(connection);
  }
  return connections;
}

async function stalled(folder: string, count: number): Promise<boolean> {
  await using side = await startService(`${folder}/stalled.kv`);
  say("calls alone …");
  const alone = await measure([side], LOAD);
  const before = await usageOf(side.pid);
  say(`calls with ${number(count)} stalled connections …`);
  const connections = await stall(side, count);
  const loaded = await measure([side], LOAD);
  const after = await usageOf(side.pid);
  for (const connection of connections) connection.close();
  const met = loaded.p99Ms < P99_MS_MAX && loaded.failures === 0;
  print(
    `p99 ${number(alone.p99Ms, 1)} ms alone, ${number(loaded.p99Ms, 1)} ms with ` +
      `${number(count)} stalled connections (bar < ${P99_MS_MAX} ms: ${met ? "met" : "MISSED"}), ` +
      `${number(loaded.requestsPerSecond)} calls a second, ${loaded.failures} failures, ` +
      `memory ${number(before?.rssMb ?? null)} → ${number(after?.rssMb ?? null)} MB`,
  );
  return met;
}

/** Measures calls while `count` connections are stalled. */
export function run({ count }: AssuranceOptions): Promise<boolean> {
  return withFolder((folder) => stalled(folder, count));
}
