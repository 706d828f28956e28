/** Tests that kill -9 between a model's answer and its commit judges no run twice, and bills it once. */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { runId } from "../../support/builders/requests.ts";
import { judged, ModelServer } from "../../support/fakes/model_server.ts";
import { Instance } from "../../support/harness/instance.ts";
import { BODY, PRICE } from "../../support/harness/judges.ts";
import { Process } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const KEY = `apk_eu_${"c7".repeat(16)}`;

/** Kills; some come before the commit of the outcome, and some after it. */
const KILLS = 4;

/** Milliseconds after which a call without an answer counts as spent. */
const HOLD_MS = 600_000;

Deno.test("judges: after kill -9 between answer and commit, each run is judged and each call paid once", async () => {
  await using server = new ModelServer();
  await withFolder(async (folder) => {
    const path = `${folder}/test.kv`;
    const settings = {
      RUNLEDGER_KV: path,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_LLM: `local=http://127.0.0.1:${server.receiver.port}/v1`,
    };
    for (let n = 1; n <= KILLS; n++) {
      await using process = await Process.start(settings);
      const send = async (method: string, path: string, body: object) => {
        const headers = { Authorization: `Bearer ${KEY}` };
        const init = { method, headers, body: JSON.stringify(body) };
        const response = await fetch(process.url + path, init);
        const text = await response.text();
        assert(response.ok, `${path}: ${response.status} ${text}`);
      };
      if (n === 1) {
        await send("PUT", "/v1/rate-card", PRICE);
        await send("PUT", "/v1/judges/helpful", { ...BODY, rubric: "Is {{metadata/n}} good?" });
      }
      const answered = Promise.withResolvers<void>();
      server.behavior = async (connection, request) => {
        await judged(5)(connection, request);
        answered.resolve();
      };
      await send("POST", "/v1/heartbeats", {
        id: runId(n),
        agent: "bot",
        status: "ok",
        metadata: { n },
      });
      await answered.promise;
      assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
    }
    server.behavior = judged(5);
    const called = server.requests.length;
    const clock = { now: Date.now() + HOLD_MS };
    const environment = {
      now: () => clock.now,
      random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
    };
    const models = server.models(environment.now);
    await using instance = await Instance.start(path, { environment, models, key: KEY });
    // A hold without an answer is spent, and the run is judged again.
    for (let round = 0; round < 3; round++) {
      await instance.service.work.idle();
      await instance.service.worker.idle();
      clock.now += HOLD_MS;
    }
    let again = 0, cost = 0;
    for (let n = 1; n <= KILLS; n++) {
      const { judge_results: [result], scores } = await instance.call(
        "GET",
        `/v1/runs/${runId(n)}`,
      );
      assertEquals([result.state, scores.length], ["done", 1]);
      again += result.attempts - 1;
      cost += result.cost_usd;
      assertEquals(result.cost_estimated, result.attempts > 1);
    }
    assertEquals(server.requests.length - called, again);
    const { runs } = await instance.call("GET", "/v1/runs?agent=judge%3Ahelpful");
    assertEquals(runs.length, KILLS);
    const paid = runs.reduce((sum: number, run: { cost_usd: number }) => sum + run.cost_usd, 0);
    assertEquals(paid.toFixed(12), cost.toFixed(12));
    assert(paid >= server.requests.length * 0.00012 - 1e-12, `${paid}`);
    assertEquals((await verifyStore(instance.store)).differences, []);
  });
});
