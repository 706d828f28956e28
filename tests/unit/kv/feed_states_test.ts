/**
 * A change of the feed shows the state that its commit summarized. A state that is stored but not
 * processed would appear twice: under the number of an earlier change, and then under its own. On a
 * shared KV, where processing takes several round trips, followers often read in between.
 */
import { assertEquals } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { openStore } from "../../../kv/open.ts";
import {
  aCall,
  finish,
  open,
  processAll,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { NOON } from "../../support/harness/harness.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { assertFollowed, Follower } from "../../support/oracles/feed.ts";
import type { Store } from "../../../kv/store.ts";

/** Reads the feed after each write and again after it is processed. */
async function followEachStep(store: Store): Promise<void> {
  const runs = runsOf(store);
  const follower = new Follower(TEAM.id);
  const steps = [
    () => open(runs, 1),
    () => runs.append(TEAM, run(1), [aCall(1)], NOON),
    () => finish(runs, 1),
    () => runs.append(TEAM, run(1), [aCall(2)], NOON),
  ];
  for (const step of steps) {
    await step();
    const late = new Follower(TEAM.id);
    await late.readOn(store);
    assertEquals(late.received, follower.received.slice(-1), "a change before it is processed");
    await processAll(store);
    await follower.readOn(store);
  }
  const states = follower.received.flatMap((change) =>
    change.kind === "changed"
      ? [[change.row.status, change.row.usage.events, change.row.cost.revision]]
      : []
  );
  assertEquals(states, [["running", 0, 0], ["running", 1, 0], ["success", 1, 1], [
    "success",
    2,
    2,
  ]]);
  await assertFollowed(store, follower, [run(1)]);
}

TempStore.test("feed: a change shows the state at its number, whatever is stored since", async (temp) => {
  await followEachStep(temp.store);
});

KvServer.test("feed: a change on a shared KV shows the state at its number, also if answers are lost", async (server) => {
  server.knobs.answer = () => server.counts.commits % 3 === 0 ? "lost" : "sent";
  const store = await asKvClient(() => openStore(server.url(), new Memory()));
  try {
    await followEachStep(store);
  } finally {
    await store.close();
  }
});
