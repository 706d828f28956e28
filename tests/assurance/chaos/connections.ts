/** Faults of clients: slow, partial, silent, oversized or reset requests. */
import { connect } from "node:net";
import { assert, assertEquals } from "@std/assert";
import { usageOf } from "../../../bench/process.ts";
import { BODY_BYTES_MAX, BODY_DEADLINE_MS } from "../../../domain/core/limits.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { Process } from "../../support/harness/process.ts";
import { ask, head, post, RawSocket, refusal } from "../../support/harness/raw_socket.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { until } from "../../support/harness/until.ts";
import { assertExact, noPendingWork } from "./verify.ts";
import { KEY, number, settingsIn, statusOf } from "./fault.ts";

/** Connections of each kind. */
const EACH = 100;

const HEARTBEATS = "/v1/heartbeats";

/** Starts of requests that never end; the first one sends its body drop by drop. */
const STARTS: Record<string, string> = {
  "a dripping body": `${post(["Content-Length: 1000"], HEARTBEATS)}{"agent":`,
  "a silent body": `${post(["Content-Length: 1000"], HEARTBEATS)}{"agent":`,
  "half a head": head("POST /v1/heartbeats HTTP/1.1", "Host: x").slice(0, -2),
  "nothing": "",
};

/** Holds hundreds of half-open connections while other clients make ordinary calls. */
export async function halfOpen(): Promise<string> {
  return await withService(async (process) => {
    const filesBefore = await openFiles(process.pid);
    const calls = [await timeCalls(process.url, 0)];
    const sockets = await openAll(process.url);
    const drip = setInterval(() => {
      for (const socket of sockets["a dripping body"] ?? []) socket.send(" ").catch(() => {});
    }, 1_000);
    const startMs = performance.now();
    for (let n = 1; performance.now() - startMs < BODY_DEADLINE_MS; n++) {
      calls.push(await timeCalls(process.url, n));
    }
    for (const kind of ["a dripping body", "a silent body"]) {
      for (const socket of sockets[kind] ?? []) {
        assertEquals(refusal(await socket.answer()), [408, "body_timeout"], kind);
      }
    }
    clearInterval(drip);
    for (const socket of Object.values(sockets).flat()) socket[Symbol.dispose]();
    await until(async () => await openFiles(process.pid) <= filesBefore + CLIENTS);
    const [alone, ...loaded] = calls;
    const count = Object.values(sockets).flat().length;
    return `${count} connections, ${2 * EACH} bodies ended with 408 after ` +
      `${BODY_DEADLINE_MS / 1_000} s; p99 of other calls ${p99(alone ?? [])} ms alone, ` +
      `${p99(loaded.flat())} ms with them; all handles released`;
  });
}

async function openAll(url: string): Promise<Record<string, RawSocket[]>> {
  const sockets: Record<string, RawSocket[]> = {};
  for (const [kind, start] of Object.entries(STARTS)) {
    sockets[kind] = await Promise.all(Array.from({ length: EACH }, async () => {
      const socket = await RawSocket.open(url);
      await socket.send(start);
      return socket;
    }));
  }
  return sockets;
}

/** Resets connections in the middle of a body, and immediately after it. */
export async function reset(): Promise<string> {
  return await withService(async (process, path) => {
    // A body without its last character is valid JSON, but shorter than its Content-Length.
    const bodies = Array.from({ length: 2 * EACH }, (_, n) => `${JSON.stringify(aHeartbeat(n))} `);
    await Promise.all(bodies.map((body, n) => {
      const head = post([`Content-Length: ${body.length}`], HEARTBEATS);
      return sendAndReset(process.url, head + (isHalf(n) ? body.slice(0, -1) : body));
    }));
    assertEquals(await statusOf(`${process.url}/readyz`), 200);
    let stored = 0;
    for (const n of bodies.keys()) {
      const status = await statusOf(`${process.url}/v1/runs/${runId(n)}`);
      assert(status === 200 || status === 404, `${status}`);
      assert(status === 404 || !isHalf(n), `run ${n} was created from half a body`);
      stored += Number(status === 200);
    }
    for (const body of bodies) {
      assert([200, 202].includes(await statusOf(process.url + HEARTBEATS, body)));
    }
    assertEquals(await usedOf(process.url), bodies.length);
    await noPendingWork(path);
    assertEquals((await process.stop()).code, 0);
    await assertExact(path);
    return `${number(bodies.length)} connections reset, ${EACH} of them in the body: ` +
      `${stored} stored completely, none in part, ${
        number(bodies.length)
      } counted after retries, exact`;
  });
}

/** Every other request ends in its body. */
function isHalf(n: number): boolean {
  return n % 2 === 0;
}

function sendAndReset(url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.once("error", reject);
    // Resolves when the bytes are written, without waiting for a response.
    socket.write(bytes, () => {
      socket.resetAndDestroy();
      resolve();
    });
  });
}

/** Sends bodies beyond every limit in parallel; nothing is stored, and memory use stays low. */
export async function hugeAndDeep(): Promise<string> {
  return await withService(async (process) => {
    const requests = Object.entries(await requestsBeyond());
    const before = await usageOf(process.pid);
    for (const [name, bytes] of requests) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(process.url, bytes)));
      const kinds = new Set(answers.map((answer) => refusal(answer).join(" ")));
      // While other bodies hold the memory for bodies, one more is refused for the moment.
      kinds.delete("503 overloaded");
      assertEquals([...kinds], ["413 payload_too_large"], name);
    }
    const after = await usageOf(process.pid);
    const grownMb = Math.round((after?.rssMb ?? 0) - (before?.rssMb ?? 0));
    assert(grownMb < GROWN_MB_MAX, `memory grew by ${grownMb} MB`);
    assertEquals(await usedOf(process.url), 0);
    return `${20 * requests.length} bodies of ${requests.length} kinds refused, ` +
      `nothing stored, memory grew by ${grownMb} MB`;
  });
}

/** Far less than the total size of the bodies. */
const GROWN_MB_MAX = 256;

async function requestsBeyond(): Promise<Record<string, string | Uint8Array>> {
  const text = (body: string) => post([`Content-Length: ${body.length}`], HEARTBEATS) + body;
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const bomb = await gzipOfSpaces(256 * BODY_BYTES_MAX);
  const gzip = post(["Content-Encoding: gzip", `Content-Length: ${bomb.length}`], HEARTBEATS);
  return {
    "one byte too many": text(" ".repeat(BODY_BYTES_MAX + 1)),
    "100 MB announced": post(["Content-Length: 100000000"], HEARTBEATS) +
      " ".repeat(BODY_BYTES_MAX),
    "chunks without end": post(["Transfer-Encoding: chunked"], HEARTBEATS) +
      chunk.repeat(BODY_BYTES_MAX / 0x10000 + 1),
    "a zip bomb": new Uint8Array([...new TextEncoder().encode(gzip), ...bomb]),
  };
}

async function gzipOfSpaces(bytes: number): Promise<Uint8Array> {
  const piece = new Uint8Array(BODY_BYTES_MAX).fill(0x20);
  const pieces = ReadableStream.from(Array.from({ length: bytes / piece.length }, () => piece));
  const zipped = pieces.pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}

async function withService(
  work: (process: Process, path: string) => Promise<string>,
): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    await using process = await Process.start(settings);
    return await work(process, settings.RUNLEDGER_KV);
  });
}

/** Returns the number of events counted so far. */
async function usedOf(url: string): Promise<number> {
  const response = await fetch(`${url}/v1/usage`, { headers: { Authorization: `Bearer ${KEY}` } });
  return (await response.json()).used;
}

/** Clients of the ordinary calls. */
const CLIENTS = 16;

/** Measures ordinary calls in milliseconds. */
async function timeCalls(url: string, round: number): Promise<number[]> {
  return await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    const startMs = performance.now();
    const body = JSON.stringify(aHeartbeat(1_000_000 + CLIENTS * round + client));
    assertEquals(await statusOf(url + HEARTBEATS, body), 202);
    return performance.now() - startMs;
  }));
}

function p99(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b);
  return (sorted[Math.ceil(sorted.length * 0.99) - 1] ?? NaN).toFixed(1);
}

/** Returns the number of open sockets and files of a process. */
async function openFiles(pid: number): Promise<number> {
  return (await Array.fromAsync(Deno.readDir(`/proc/${pid}/fd`))).length;
}
