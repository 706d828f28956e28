/**
 * Exporters of real products, each in a process of its own with the lines of the page Connect: what
 * they repeat after 429 and 503 is stored once.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { linesFor, PRODUCTS_BY_SLUG } from "../../../domain/otlp/products.ts";
import { answer, Receiver } from "../../support/fakes/receiver.ts";
import { signedIn, textOf } from "../../support/harness/dashboard.ts";
import { Harness } from "../../support/harness/harness.ts";

const ROOT = new URL("../../../", import.meta.url);

const DENO = [
  ...["run", "-A", "--quiet", "--no-check", `--config=${ROOT.pathname}deno.json`],
  `--lock=${ROOT.pathname}tests/packages/development.lock`,
];

/** A Python with the packages that `CONTRIBUTING.md` names. */
const PYTHON = Deno.env.get("PYTHON") ?? "python3";

const ANSWER = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o-2024-08-06",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "It rains in Paris." },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 1200, completion_tokens: 340, total_tokens: 1540 },
};

/** The service behind a proxy that sees each call of an exporter. */
class Door implements AsyncDisposable {
  readonly calls: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #rateClock: { ms: number };

  private constructor(readonly h: Harness, rateClock: { ms: number }) {
    this.#rateClock = rateClock;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => this.#forward(request),
    );
  }

  /** Opens a service that refuses the first call for its rate, and the second as it shuts down. */
  static async open(): Promise<Door> {
    const rateClock = { ms: 0 };
    const h = await Harness.open({ tier: "free", rateClock: () => rateClock.ms });
    h.nowMs = Date.now();
    const bucket = h.limits.ingest.bucketOf(h.team, 0);
    assert(bucket !== null);
    await Promise.all(Array.from({ length: 5_000 }, () => bucket.request(0, () => {})));
    return new Door(h, rateClock);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async #forward(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const { method, headers } = request;
    const sent = await fetch(this.h.url + pathname, {
      method,
      headers,
      body: await request.bytes(),
    });
    const body = await sent.bytes();
    const [type, encoding] = ["content-type", "content-encoding"].map((name) => headers.get(name));
    this.calls.push([sent.status, pathname, type, encoding ?? ""].join(" ").trim());
    // The refusal that the exporter has seen ends; the next one begins.
    if (sent.status === 429) this.#rateClock.ms += 60_000;
    this.h.draining = sent.status === 429;
    return new Response(body, { status: sent.status, headers: sent.headers });
  }

  /** Runs an exporter with the lines of a product; returns what it prints. */
  async run(slug: string, command: string, args: readonly string[], env = {}): Promise<string> {
    const product = PRODUCTS_BY_SLUG.get(slug);
    assert(product !== undefined);
    const lines = linesFor(product, this.url, this.h.key).matchAll(/ (\w+)=("[^"]*"|\S+)/g);
    const set = Object.fromEntries(
      Array.from(lines, ([, name = "", value = ""]) => [name, value.replaceAll('"', "")]),
    );
    const { success, stdout, stderr } = await new Deno.Command(command, {
      args: [...args],
      // By default Langfuse gives up after 5 seconds, which two refusals can take.
      env: { ...set, LANGFUSE_TIMEOUT: "30", ...env },
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert(success, text);
    return text;
  }

  /** Returns the runs once the work on them is done, and the page Connect has heard the product. */
  async runsOf(slug: string) {
    await this.h.worker.idle();
    const page = await (await signedIn(this.h)).get(`/dashboard/connect?product=${slug}`);
    assert(textOf(page.text).includes(`${PRODUCTS_BY_SLUG.get(slug)?.name} heard `));
    const { runs } = (await this.h.get("/v1/runs")).json;
    return runs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await this.h[Symbol.asyncDispose]();
  }
}

const script = (name: string) => new URL(`tests/support/exporters/${name}`, ROOT).pathname;

for (const [encoding, type] of [["json", "json"], ["protobuf", "x-protobuf"]] as const) {
  Deno.test(`live: OpenTelemetry JS sends ${encoding} with gzip, and again after 429 and 503`, async () => {
    await using door = await Door.open();
    const env = { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" };
    const text = await door.run("openai", Deno.execPath(), [
      ...DENO,
      script("opentelemetry.ts"),
      encoding,
    ], env);
    const call = `/v1/traces application/${type} gzip`;
    assertEquals(door.calls, [`429 ${call}`, `503 ${call}`, `200 ${call}`]);
    assertMatch(text, /Partial Success.*1.*outside of 1970/s);
    const runs = await door.runsOf("openai");
    assertEquals(runs.map(({ status }: { status: string }) => status).sort(), [
      "failed",
      "success",
    ]);
  });
}

const PROTOBUF = "/v1/traces application/x-protobuf";

/** The other products: command, arguments, and the path and type of their calls. */
const AGENTS = [
  ["vercel", "ai_sdk.ts", PROTOBUF, { agent: "my-agent", calls: 2, tools: 1, tokens: 2_400 }],
  [
    "langfuse",
    "langfuse.ts",
    "/api/public/otel/v1/traces application/json",
    { agent: "my-agent", calls: 1, tools: 1, tokens: 1_200 },
  ],
] as const;

for (const [product, file, call, { agent, calls, tools, tokens }] of AGENTS) {
  Deno.test(`live: ${product} is a run of its agent, sent again after 429 and 503`, async () => {
    await using door = await Door.open();
    await door.run(product, Deno.execPath(), [...DENO, script(file)]);
    const all = door.calls.map((line) => line.replace(/ gzip$/, ""));
    assertEquals(all.slice(0, 3), [`429 ${call}`, `503 ${call}`, `200 ${call}`]);
    const [run, ...others] = await door.runsOf(product);
    assertEquals(others, []);
    assertEquals([run.agent, run.status], [agent, "success"]);
    const { llm_calls, tool_calls, input_tokens } = run.usage;
    assertEquals([llm_calls, tool_calls, input_tokens], [calls, tools, tokens]);
    const page = await (await signedIn(door.h)).get(`/dashboard/runs/${run.id}`);
    assertMatch(textOf(page.text), /User weather in Paris\? .*It rains in Paris\./);
  });
}

/** Returns whether the Python has the packages of a product. */
async function hasPackages(...names: readonly string[]): Promise<boolean> {
  const command = new Deno.Command(PYTHON, {
    args: ["-c", `import ${["openai", ...names].join(", ")}`],
    ...{ stdout: "null", stderr: "null" },
  });
  return await command.output().then(({ success }) => success, () => false);
}

/** Python products: the package that each needs, and the paths of its calls. */
const PYTHON_PRODUCTS = [
  ["openai", "opentelemetry.instrumentation.genai.openai", PROTOBUF],
  ["openinference", "openinference.instrumentation.openai", PROTOBUF],
  ["langfuse", "langfuse", "/api/public/otel/v1/traces application/x-protobuf"],
] as const;

for (const [product, module, call] of PYTHON_PRODUCTS) {
  Deno.test({
    name: `live: ${product} in Python is a run with its call, sent again after 429 and 503`,
    ignore: !await hasPackages(module),
    async fn() {
      await using door = await Door.open();
      await using model = new Receiver(
        answer(200, { "Content-Type": "application/json" }, JSON.stringify(ANSWER)),
      );
      const env = { OPENAI_BASE_URL: `http://127.0.0.1:${model.port}/v1` };
      await door.run(product, PYTHON, [script("openai_call.py"), product], env);
      const all = door.calls.map((line) => line.replace(/ (gzip|deflate)$/, ""));
      assertEquals(all.slice(0, 3), [`429 ${call}`, `503 ${call}`, `200 ${call}`]);
      const [run, ...others] = await door.runsOf(product);
      assertEquals(others, []);
      const { llm_calls, input_tokens, output_tokens } = run.usage;
      assertEquals([llm_calls, input_tokens, output_tokens], [1, 1_200, 340]);
      assert(run.cost_usd > 0);
    },
  });
}
