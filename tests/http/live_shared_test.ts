/** Live streams and long polls of one service, for calls to another one on the same shared KV. */
import { assertEquals } from "@std/assert";
import { aFinish, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { KvServer } from "../support/fakes/kv_server.ts";
import { briefly, follow } from "../support/harness/live.ts";

KvServer.test("shared KV: streams and long polls see calls to another service", async (server) => {
  await using writing = await Harness.open({ kv: server.url() });
  await using reading = await Harness.open({ kv: server.url() });
  await using listener = await follow(reading);
  const cursor = (await reading.get("/v1/changes")).json.next_cursor;
  const waiting = reading.get(`/v1/changes?after=${cursor}&wait=30`);
  await writing.post("/v1/runs", aRun(1));
  assertEquals((await listener.events(1)).map(briefly), ["run.opened 1"]);
  assertEquals((await waiting).json.changes[0].run.id, runId(1));
  const final = reading.get(`/v1/runs/${runId(1)}?wait=final`);
  await writing.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertEquals((await final).json.cost.state, "final");
  const ends = ["run.finished 1", "run.cost_final 1"];
  assertEquals((await listener.events(2)).map(briefly), ends);
});
