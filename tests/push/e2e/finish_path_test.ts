/** Holds down how many files a reader meets between the 202 of a failed finish and its alert. */
import { assert } from "@std/assert";
import { Session } from "node:inspector/promises";
import { LendableLeadership } from "../../../runtime/loop.ts";
import { parseEgress } from "../../../outbound/http.ts";
import { WebhookReceiver } from "../../support/fakes/webhook_receiver.ts";
import { NOON } from "../../support/harness/harness.ts";
import { Instance } from "../../support/harness/instance.ts";
import { makeMemoryFolder } from "../../support/harness/memory_folder.ts";

/** Maximum files with a function that is called on the way. A smaller number lowers it. */
const FILES_MAX = 55;

const ROOT = new URL("../../../", import.meta.url).href;

/** Counts the calls of functions by their file. */
class CallCounts {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    const options = { callCount: true, detailed: false };
    await this.#session.post("Profiler.startPreciseCoverage", options);
  }

  /** Returns the project's files of which a function was called since the last call of this. */
  async take(): Promise<string[]> {
    const { result } = await this.#session.post("Profiler.takePreciseCoverage") as {
      readonly result: readonly {
        readonly url: string;
        readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
      }[];
    };
    return result
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
      .filter(({ url }) => url.startsWith(ROOT))
      .map(({ url }) => url.slice(ROOT.length))
      .filter((path) => !path.startsWith("tests/"))
      .sort();
  }

  async stop(): Promise<void> {
    await this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}

Deno.test("a failed finish: few files run between its 202 and its alert", async () => {
  const folder = await makeMemoryFolder();
  const leadership = new LendableLeadership();
  const receiver = WebhookReceiver.start();
  const counts = new CallCounts();
  await counts.start();
  try {
    // A clock that stands still: nothing else is due.
    const environment = {
      now: () => NOON,
      random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
    };
    const egress = parseEgress("127.0.0.0/8")!;
    const options = { environment, egress, leadership };
    await using service = await Instance.start(`${folder}/test.kv`, options);
    const hook = { type: "webhook", default: true, url: receiver.url };
    await service.call("PUT", "/v1/channels/hook", hook);
    const each = { kind: "run_failed", params: { consecutive: 1 }, group_by: "agent" };
    await service.call("PUT", "/v1/rules/failures", each);
    const { worker, work } = service.service;
    const at = new Date(NOON).toISOString();
    const finish = async (id: string, agent: string) => {
      await service.call("POST", "/v1/runs", { id, agent, started_at: at });
      await worker.idle();
      await work.idle();
      // No step begins meanwhile, so that the files of the call itself are not counted.
      await leadership.lend(async () => {
        const end = { status: "failed", output: { error: "no space left" }, finished_at: at };
        await service.call("POST", `/v1/runs/${id}/finish`, end);
        await counts.take();
      });
      const arrived = Promise.withResolvers<string[]>();
      receiver.answer = () => {
        arrived.resolve(counts.take());
        return 204;
      };
      return await arrived.promise;
    };
    // Loads the modules.
    await finish(`run_eu_${"1".repeat(32)}`, "first");
    const files = await finish(`run_eu_${"2".repeat(32)}`, "second");
    assert(files.length <= FILES_MAX, `${files.length} files: ${files.join(" ")}`);
  } finally {
    await counts.stop();
    await receiver[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
});
