/** Resets connections in the middle of a body, and immediately after it. */
import { connect } from "node:net";
import { assert, assertEquals } from "@std/assert";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { Process } from "../../support/harness/process.ts";
import { post } from "../../support/harness/raw_socket.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import { assertExact, noPendingWork } from "./verify.ts";
import { KEY, number, settingsIn, statusOf } from "./fault.ts";

/** Connections of each kind. */
const EACH = 100;

/** Resets connections; each call is stored completely or not at all, and counts once. */
export async function reset(): Promise<string> {
  return await withFolder(async (folder) => {
    const settings = settingsIn(folder);
    const path = settings.RUNLEDGER_KV;
    await using process = await Process.start(settings);
    const heartbeats = `${process.url}/v1/heartbeats`;
    // A body without its last character is valid JSON, but shorter than its Content-Length.
    const bodies = Array.from({ length: 2 * EACH }, (_, n) => `${JSON.stringify(aHeartbeat(n))} `);
    await Promise.all(bodies.map((body, n) => {
      const head = post([`Content-Length: ${body.length}`], "/v1/heartbeats");
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
      assert([200, 202].includes(await statusOf(heartbeats, { method: "POST", body })));
    }
    const headers = { Authorization: `Bearer ${KEY}` };
    const usage = await fetch(`${process.url}/v1/usage`, { headers });
    assertEquals((await usage.json()).used, bodies.length);
    await noPendingWork(path);
    assertEquals((await process.stop()).code, 0);
    await assertExact(path);
    return `${number(bodies.length)} connections reset, ${EACH} of them in the body: ${stored} ` +
      `stored completely, none in part, ${number(bodies.length)} counted after retries, exact`;
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
