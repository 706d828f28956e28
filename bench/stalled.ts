/**
 * Thousands of connections that send half a request and then nothing: what the others notice.
 *
 * Usage: deno task stalled
 */
import { type Load, measure } from "./measure.ts";
import { usageOf } from "./process.ts";
import { print, say } from "./say.ts";
import { type Side, startSide } from "./sides.ts";
import { number } from "./table.ts";
import { keyOf } from "./teams.ts";
import { endWithVerdict } from "./verdict.ts";

const STALLED = 3_000;
/** The bar: 99th percentile of everybody else's calls. */
const P99_MS_MAX = 25;
/** About a tenth of the top rate: what is measured is waiting, not work. */
const LOAD: Load = { call: "open", connections: 32, seconds: 10, pauseMs: 16 };

/** Opens connections whose bodies never come to their end. */
async function stall(side: Side): Promise<Deno.TcpConn[]> {
  const { hostname, port } = new URL(side.url);
  const head = `POST /v1/runs HTTP/1.1\r\nHost: ${hostname}:${port}\r\n` +
    `Authorization: Bearer ${keyOf(1)}\r\nContent-Length: 1000\r\n\r\n{"id":`;
  const bytes = new TextEncoder().encode(head);
  const connections: Deno.TcpConn[] = [];
  for (let n = 0; n < STALLED; n++) {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(bytes);
    connections.push(connection);
  }
  return connections;
}

async function main(folder: string): Promise<boolean> {
  await using side = await startSide("ours", `${folder}/stalled.kv`);
  say("calls alone …");
  const alone = await measure(side, LOAD);
  const before = await usageOf(side.pid);
  say(`calls beside ${number(STALLED)} stalled connections …`);
  const connections = await stall(side);
  const beside = await measure(side, LOAD);
  const after = await usageOf(side.pid);
  for (const connection of connections) connection.close();
  const met = beside.p99Ms < P99_MS_MAX && beside.failures === 0;
  print(
    `p99 ${number(alone.p99Ms, 1)} ms alone, ${number(beside.p99Ms, 1)} ms beside ` +
      `${number(STALLED)} stalled connections (bar < ${P99_MS_MAX} ms: ${
        met ? "met" : "MISSED"
      }), ` +
      `${number(beside.requestsPerSecond)} calls a second, ${beside.failures} failures, ` +
      `memory ${number(before?.rssMb ?? null)} → ${number(after?.rssMb ?? null)} MB`,
  );
  return met;
}

await endWithVerdict(main);
