/** Tests a client that keeps sending during a response, which the runtime buffers. */
import { assert, assertEquals } from "@std/assert";
import { aRun, runId } from "../../support/builders/requests.ts";
import { Listener } from "../../support/harness/live.ts";
import { Process } from "../../support/harness/process.ts";
import { head, RawSocket } from "../../support/harness/raw_socket.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const KEY = `apk_eu_${"d5".repeat(16)}`;
const AUTH = `Authorization: Bearer ${KEY}`;

/** Memory of the smallest target machine, and the bytes sent: each flood alone exceeds it. */
const MEMORY_MB = 256;
const FLOOD_BYTES = 400_000_000;
const PART_BYTES = 1_000_000;
/** Bytes that may arrive between two memory checks on a busy machine. */
const SLACK_MB = 150;

/** Returns the resident megabytes of a process. */
async function residentMb(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_000;
}

/** Sends a request, then more bytes until the connection breaks; returns their number. */
async function flood(url: string, path: string): Promise<number> {
  using socket = await RawSocket.open(url);
  await socket.send(head(`GET ${path} HTTP/1.1`, "Host: x", AUTH));
  const chunk = new Uint8Array(PART_BYTES).fill(65);
  let bytes = 0;
  try {
    for (; bytes < FLOOD_BYTES; bytes += PART_BYTES) {
      await socket.send(chunk);
      // The rate of a network.
      await new Promise((resolve) => setTimeout(resolve, 12));
    }
    await socket.rest();
  } catch (error) {
    if (
      !(error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe)
    ) {
      throw error;
    }
  }
  return bytes;
}

Deno.test("flood: bytes sent into live streams and waiting calls are freed with them", async () => {
  await withFolder(async (folder) => {
    const settings = {
      RUNLEDGER_KV: `${folder}/test.kv`,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_MEMORY_MB: String(MEMORY_MB),
    };
    await using process = await Process.start(settings);
    const headers = { Authorization: `Bearer ${KEY}` };
    const opens = async (n: number) => {
      const sent = { method: "POST", headers, body: JSON.stringify(aRun(n)) };
      const response = await fetch(`${process.url}/v1/runs`, sent);
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await opens(1), 202);
    await using older = await Listener.open(process.url, KEY);
    let mostMb = 0;
    const checks = setInterval(async () => {
      mostMb = Math.max(mostMb, await residentMb(process.pid));
    }, 50);
    const paths = ["/v1/live", `/v1/runs/${runId(1)}?wait=final&timeout=60`];
    const sent = await Promise.all(paths.map((path) => flood(process.url, path)));
    clearInterval(checks);
    for (const bytes of sent) assert(bytes < FLOOD_BYTES, `${bytes} bytes were accepted`);
    assert(mostMb < MEMORY_MB + SLACK_MB, `${mostMb} MB`);
    // The response that started before the floods continues.
    assertEquals(await opens(2), 202);
    let event = await older.next();
    while (event !== null && event.data?.id !== runId(2)) event = await older.next();
    assert(event !== null);
  });
});
