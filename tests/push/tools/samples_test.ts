import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { loadInto, openSampleWorld } from "../../support/builders/sample_world.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";
import { developmentKey } from "../../../domain/teams/credentials.ts";
import { NOON } from "../../support/harness/harness.ts";

Deno.test("samples: the dashboard is filled, every total is exact, and a second load changes nothing", async (t) => {
  await using h = await openSampleWorld();
  await h.worker.idle();
  const get = async (path: string) => (await h.get(path)).json;

  await t.step("a crew fails three levels deep, after three tries", async () => {
    const { runs: [failed] } = await get("/v1/runs?agent=support-crew&status=failed&limit=1");
    const path = [failed.id];
    for (const agent of ["refund-agent", "payments-writer"]) {
      const { runs } = await get(`/v1/runs?agent=${agent}&status=failed&limit=10`);
      const records = await Promise.all(
        runs.map(({ id }: { id: string }) => get(`/v1/runs/${id}`)),
      );
      path.push(records.find((run) => run.parent_run_id === path.at(-1))?.id);
    }
    const { events, status } = await get(`/v1/runs/${path.at(-1)}`);
    const tries = events.filter(({ type }: { type: string }) => type === "tool_call");
    assertEquals([status, tries.length], ["failed", 3]);
    assert(tries.every(({ data }: { data: { error: string } }) => data.error.startsWith("502")));
  });

  await t.step("monitors have been up, late and down since thirty days", async () => {
    const { monitors } = await get("/v1/monitors");
    const states = monitors.map(({ agent, state }: Record<string, string>) => `${agent} ${state}`);
    assertEquals(states, [
      "crm-sync late",
      "nightly-backup up",
      "price-watch down",
      "support-crew down",
      "usage-report up",
    ]);
    const { flips } = await get("/v1/agents/nightly-backup/flips");
    const reasons = new Set(flips.map(({ reason }: { reason: string }) => reason));
    for (const reason of ["missed", "failed", "recovered"]) assert(reasons.has(reason), reason);
    const firstMs = Date.parse(flips.at(-1).at);
    assert(NOON - firstMs > 28 * 86_400_000, flips.at(-1).at);
  });

  await t.step("one channel delivers, one is broken", async () => {
    const states = async (channel: string) => {
      const { deliveries } = await get(`/v1/deliveries?channel=${channel}`);
      return new Set(deliveries.map(({ state }: { state: string }) => state));
    };
    assertEquals(await states("ops-chat"), new Set(["delivered"]));
    const { deliveries } = await get("/v1/deliveries?channel=old-pager");
    const details = await Promise.all(
      deliveries.map(({ id }: { id: string }) => get(`/v1/deliveries/${id}`)),
    );
    const tries = details.flatMap(({ attempts }) => attempts).map(({ status }) => status);
    assertEquals(tries.toSorted(), [410, 503, 503, 503]);
    const { channels } = await get("/v1/channels");
    assertEquals(
      channels.map(({ slug, state }: Record<string, string>) => `${slug} ${state}`),
      ["old-pager broken", "ops-chat ok"],
    );
    const { incidents } = await get("/v1/incidents?state=unresolved");
    assert(incidents.length >= 5);
  });

  await t.step("a model has no price, and every total is exact", async () => {
    const { models } = await get("/v1/spend/unpriced");
    assertEquals(models.map(({ model }: { model: string }) => model), ["atlas-70b-preview"]);
    const report = await verifyStore(h.store);
    assertEquals(report.differences, []);
  });

  const before = await h.dump();
  await h.restart(async () => assertEquals(await loadInto(h), 0));
  assertEquals(await h.dump(), before);
});

inFolder.test("samples: deno task dev has them with --demo, once, and then works on", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv` };
  const headers = { Authorization: `Bearer ${developmentKey("eu")}` };
  for (const line of [/Loaded \d+ runs\n/, /Nothing loaded: the ledger has agents already\n/]) {
    await using process = await Process.start(settings, "--dev", "--demo");
    const ping = await fetch(`${process.url}/v1/ping?agent=hello`, { headers });
    assertEquals([ping.status, await ping.text()], [200, "OK\n"]);
    const agents = await (await fetch(`${process.url}/v1/agents`, { headers })).json();
    assertEquals(agents.agents.length, 12);
    const { stderr } = await process.stop();
    assert(line.test(stderr), stderr);
    assertStringIncludes(stderr, "everything acknowledged is stored");
  }
});
