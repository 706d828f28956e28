/** A judge over three instances on one shared KV: one of them works until kill -9, and another takes over. */
import { assert, assertEquals } from "@std/assert";
import { runId } from "../../support/builders/requests.ts";
import { KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { judged, ModelServer } from "../../support/fakes/model_server.ts";
import { answer } from "../../support/fakes/receiver.ts";
import { Instance, KEY } from "../../support/harness/instance.ts";
import { BODY, PRICE } from "../../support/harness/judges.ts";
import { Process } from "../../support/harness/process.ts";

/** Runs of a round, a third through each instance. */
const RUNS = 9;

/** Milliseconds within which another instance replaces a killed one: three leases. */
const LEASE_MS_MAX = 30_000;

// deno-lint-ignore no-explicit-any -- answers of any shape
type Call = (method: string, path: string, body?: object) => Promise<any>;

Deno.test("judges: three instances judge each run once, also after kill -9 of the one that works", async () => {
  await using stack = new AsyncDisposableStack();
  const kv = stack.use(await KvServer.start());
  const server = stack.use(new ModelServer());
  // The first instance to open has the lease.
  const worker = stack.use(
    await Process.start({
      RUNLEDGER_KV: kv.url(),
      RUNLEDGER_KV_TOKEN: KV_TOKEN,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_LLM: `local=http://127.0.0.1:${server.receiver.port}/v1`,
    }),
  );
  const calls: Call[] = [async (method, path, body) => {
    const headers = { Authorization: `Bearer ${KEY}` };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(worker.url + path, { method, headers, ...init });
    const text = await response.text();
    assert(response.ok, text);
    return JSON.parse(text);
  }];
  while (calls.length < 3) {
    const models = server.models(Date.now);
    const instance = stack.use(await Instance.start(kv.url(), { models }));
    calls.push(instance.call.bind(instance));
  }
  const other = calls[1] as Call;
  const put = (fields: object) => other("PUT", "/v1/judges/helpful", { ...BODY, ...fields });
  await other("PUT", "/v1/rate-card", PRICE);
  await put({ rubric: "Is {{status}} right?" });
  let runs = 0;
  const close = (call: Call, n: number) =>
    call("POST", "/v1/heartbeats", { id: runId(n), agent: "bot", status: "ok" });
  /** Waits for the result of a run. */
  const resultOf = async (call: Call, n: number) => {
    for (const endMs = performance.now() + LEASE_MS_MAX; performance.now() < endMs;) {
      const { judge_results } = await call("GET", `/v1/runs/${runId(n)}?wait=judged`);
      const [state] = judge_results.map(({ state }: { state: string }) => state);
      if (state !== "pending") return state;
    }
    throw new Error(`run ${n} is not judged`);
  };
  /** Closes runs through all instances, and waits for their results through the others. */
  const judge = async () => {
    const numbers = Array.from({ length: RUNS }, () => ++runs);
    await Promise.all(numbers.map(async (n) => {
      await close(calls[n % calls.length] as Call, n);
      assertEquals(await resultOf(calls[(n + 1) % calls.length] as Call, n), "done");
    }));
    const { spent_usd, held_usd } = await other("GET", "/v1/judges/helpful");
    // Each call costs 0.00012 dollars.
    const judgedRuns = Math.round(spent_usd / 0.00012);
    return { calls: server.requests.length, judgedRuns, isHeld: held_usd > 0 };
  };
  assertEquals(await judge(), { calls: RUNS, judgedRuns: RUNS, isHeld: false });
  // The process ends during a call, which stays held; no other instance repeats it meanwhile.
  const sent = Promise.withResolvers<void>();
  server.behavior = ({ closed }) => {
    sent.resolve();
    return closed;
  };
  await close(other, ++runs);
  await sent.promise;
  assertEquals((await worker.stop("SIGKILL")).signal, "SIGKILL");
  calls.shift();
  server.behavior = judged(5);
  assertEquals(await judge(), { calls: 2 * RUNS + 1, judgedRuns: 2 * RUNS, isHeld: true });
  // A block by one instance is seen by all, and a new version through any of them unblocks.
  server.behavior = answer(401);
  const [second, third] = calls as [Call, Call];
  await close(second, ++runs);
  while ((await third("GET", "/v1/judges/helpful")).blocked_reason === null) {
    await third("GET", `/v1/runs/${runId(runs)}?wait=final`);
  }
  server.behavior = judged(5);
  const before = server.requests.length;
  await put({ rubric: "Is {{status}} good?" });
  await close(third, ++runs);
  assertEquals(await resultOf(second, runs), "done");
  assertEquals(server.requests.length, before + 1);
});
