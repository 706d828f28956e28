/** A service with a judge, against a server of chat completions. */
import { assert, assertEquals } from "@std/assert";
import type { Judge } from "../../../domain/judges/judge.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { ModelCalls } from "../../../kv/judges/calls.ts";
import { getValue } from "../../../kv/store.ts";
import { runId } from "../builders/requests.ts";
import { ModelServer } from "../fakes/model_server.ts";
import { Harness } from "./harness.ts";
import type { HarnessOptions } from "./instance.ts";

/** Settings of the judge `helpful`. */
export const BODY = {
  connection: "local",
  model: "judge-model",
  rubric: "Score how far {{output/answer}} reaches {{goal}}.",
  result: { type: "score", min: 1, max: 5 },
  pass_at: 0.7,
};

export const PRICE = { model: BODY.model, input_usd_per_million: 1, output_usd_per_million: 2 };

/** A service with a priced model, and the judge `helpful`. */
export class JudgeHarness implements AsyncDisposable {
  #runs = 0;
  /** True to end each look after the answer of its call, as a killed process does. */
  dies = false;

  private constructor(readonly h: Harness, readonly server: ModelServer) {}

  static async open(
    fields: object = {},
    options: HarnessOptions = {},
  ): Promise<JudgeHarness> {
    const server = new ModelServer();
    let now = () => 0;
    const { connections, call } = server.models(() => now());
    let dies = () => false;
    const models: ModelCalls = {
      connections,
      async call(...sent) {
        const outcome = await call(...sent);
        // After the answer, and before its commit.
        if (dies()) throw new Error("The process ends here");
        return outcome;
      },
    };
    const h = await Harness.open({ ...options, models });
    now = () => h.nowMs;
    const harness = new JudgeHarness(h, server);
    dies = () => harness.dies;
    await harness.put("/v1/rate-card", PRICE);
    await harness.put("/v1/judges/helpful", { ...BODY, ...fields });
    return harness;
  }

  async put(path: string, body: object): Promise<void> {
    const { status, text } = await this.h.request("PUT", path, { body });
    assert(status < 300, text);
  }

  /** Opens and finishes a run; returns its id. */
  async run(output: object | null = { answer: "42" }, fields: object = {}): Promise<string> {
    const { h } = this;
    h.nowMs += 1_000;
    const id = runId(++this.#runs);
    const started_at = new Date(h.nowMs).toISOString();
    const opened = { id, agent: "bot", goal: "the answer", started_at, ...fields };
    assertEquals((await h.request("POST", "/v1/runs", { body: opened })).status, 202);
    const body = {
      status: "success",
      finished_at: started_at,
      ...output === null ? {} : { output },
    };
    const { status, text } = await h.request("POST", `/v1/runs/${id}/finish`, { body });
    assertEquals(status, 202, text);
    await this.work();
    return id;
  }

  /** Gives the judge a connection that the service lacks, as another setting of it would. */
  async loseConnection(): Promise<void> {
    const { store, team } = this.h;
    const key = keys.configObject(team.id, "judge", "helpful");
    const { settings, ...stored } = await getValue<Judge>(store, key) as Judge;
    await store.writer.commit({
      team: team.id,
      sets: [
        { key, value: { ...stored, settings: { ...settings, connection: "gone" } } },
        { key: keys.config(team.id), value: 1_000 },
      ],
    });
  }

  async work(): Promise<void> {
    await this.h.worker.idle();
    await this.h.work.idle();
    await this.h.worker.idle();
  }

  // deno-lint-ignore no-explicit-any -- reads responses of any shape
  async read(path: string): Promise<any> {
    return (await this.h.get(path)).json;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.h[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}
