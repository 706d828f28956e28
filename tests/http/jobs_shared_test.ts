/** Jobs requested at one of two services on one shared KV, which the other one may complete. */
import { assert, assertEquals } from "@std/assert";
import { aHeartbeat } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { KvServer } from "../support/fakes/kv_server.ts";

/** Milliseconds that a deletion waits for its job; the answer is then 202. */
const WAIT_MS = 5_000;

KvServer.test("jobs: each of two services on a shared KV answers once the deletion is done", async (server) => {
  await using first = await Harness.open({ kv: server.url() });
  await using second = await Harness.open({ kv: server.url() });
  for (const [n, service] of [first, second].entries()) {
    const customer = `customer-${n}`;
    const sent = await service.post("/v1/heartbeats", { ...aHeartbeat(n), customer_id: customer });
    assertEquals(sent.status, 202);
    const startMs = performance.now();
    const { status, json } = await service.request("DELETE", `/v1/customers/${customer}`);
    assertEquals([status, json.runs], [200, 1]);
    assert(performance.now() - startMs < WAIT_MS, "it waited until the end");
  }
});
