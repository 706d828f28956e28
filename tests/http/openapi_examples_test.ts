/** The API description's examples and statements match a real server. */
import { assert, assertEquals } from "@std/assert";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import {
  type CallOfGroup,
  documentedCalls,
  resolved,
  schemaName,
} from "../support/oracles/openapi_document.ts";
import type { Endpoint } from "../../routes/openapi/describe.ts";
import { type Example, exampleFor, pathTemplate } from "../../routes/openapi/document.ts";
import { Scenario, urlOf } from "../support/builders/examples.ts";
import { type Answer, Harness, type RequestOptions } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import { closed, describedApi, judgeBy } from "../support/oracles/openapi.ts";

/** The examples. With `--record` the test writes their responses. */
const RECORDED = new URL("../../routes/openapi/examples.json", import.meta.url);

const IS_RECORDING = Deno.args.includes("--record");

const HELP = "if the new response is right, record it: deno task examples";

const document = describedApi();
const judge = judgeBy(document);
/** Also refuses undescribed fields. */
const judgeClosed = judgeBy(closed(document));
const calls = documentedCalls(document);
function callOf({ id }: Endpoint): CallOfGroup {
  const placed = calls.find(({ call }) => call.operationId === id);
  assert(placed !== undefined, id);
  return placed;
}

function operationOf(id: string): Endpoint {
  const result = ENDPOINTS.find((operation) => operation.id === id);
  assert(result !== undefined, `nothing is called ${id}`);
  return result;
}

/** The key for a call: the operator's where no team key is accepted. */
function keyFor({ method, path }: Endpoint, key: string): string {
  const { access } = ENDPOINTS.find((each) => each.method === method && each.path === path) ?? {};
  return access?.scope === null ? OPERATOR_KEY : key;
}

/** Status of a call's example. */
function statusOf({ answers }: Endpoint): number {
  assert(answers[0] !== undefined);
  return answers[0].status;
}

type ApiScenario = Scenario<Answer>;

/** Sends examples to a team, and waits for the aggregates, which the next example reads. */
function scenarioOf(h: Harness, key: string): ApiScenario {
  return new Scenario(async (operation, url) => {
    const { headers = {}, body } = exampleFor(operation);
    const options = { key: keyFor(operation, key), headers, ...body === undefined ? {} : { body } };
    const answer = await h.request(operation.method, url, options);
    assertEquals(answer.status, statusOf(operation), `${operation.id}: ${answer.text}`);
    await h.worker.idle();
    return answer;
  });
}

/** Path of a response schema in the document. */
function schemaOf({ method, path }: Endpoint, status: number, type: string): string[] {
  const responses = ["paths", pathTemplate(path), method.toLowerCase(), "responses"];
  return [...responses, String(status), "content", type, "schema"];
}

operator.test(
  "every example returns the shown response, and every field of the response is described",
  async (h, t) => {
    const recorded: Record<string, Example> = JSON.parse(await Deno.readTextFile(RECORDED));
    for (const operation of ENDPOINTS) {
      await t.step(operation.id, async () => {
        const { key } = await h.addTeam("business");
        if (exampleFor(operation).endless) return await assertBegins(h, key, operation);
        const status = statusOf(operation);
        const { answer: shown } = exampleFor(operation);
        const answer = await scenarioOf(h, key).send(operation);
        const type = answer.headers.get("content-type")?.split(";")[0] ?? "";
        const real = type === "application/json" ? answer.json : answer.text;
        assertEquals(judgeClosed(schemaOf(operation, status, type), real), null);
        const isPart = operation.id === "getDescription";
        if (!IS_RECORDING && !isPart) {
          assertEquals(judgeClosed(schemaOf(operation, status, type), shown), null, "as shown");
        }
        if (!IS_RECORDING) assertEquals(difference(shown, real), null, HELP);
        else if (!isPart) {
          recorded[operation.id] = {
            ...exampleFor(operation),
            answer: answerToRecord(shown, real),
          };
        }
        assertHeaders(operation, answer);
      });
    }
    if (!IS_RECORDING) return;
    await Deno.writeTextFile(RECORDED, JSON.stringify(recorded));
    await new Deno.Command(Deno.execPath(), { args: ["fmt", RECORDED.pathname] }).output();
  },
);

/** Fails unless a stream begins as described; disconnects immediately. */
async function assertBegins(h: Harness, key: string, operation: Endpoint): Promise<void> {
  const { headers: sent = {} } = exampleFor(operation);
  const status = statusOf(operation);
  const { body, headers, status: real } = await fetch(h.url + urlOf(operation), {
    headers: { ...sent, Authorization: `Bearer ${key}` },
  });
  await body?.cancel();
  assertEquals(real, status);
  const type = headers.get("content-type")?.split(";")[0] ?? "";
  assert(type in (callOf(operation).call.responses[status]?.content ?? {}), type);
}

/** Names and instants that vary by team or time. */
const DIFFERENT =
  /^(id|team|target|replaces|secret|at|by|ms|error|\w+_by|\w+_at|\w+_seen|id_refused_until)$/;

/**
 * Returns the first path where a real response differs from the shown one, or null. A shown text may
 * be cut by "…", and a real list may have more items, from before.
 */
function difference(shown: unknown, real: unknown, where = ""): string | null {
  const differs = `${where}: ${JSON.stringify(real)} is shown as ${JSON.stringify(shown)}`;
  if (typeof shown === "string" && shown.endsWith("…")) {
    return String(real).startsWith(shown.slice(0, -1)) ? null : differs;
  }
  if (typeof shown !== "object" || shown === null) return real === shown ? null : differs;
  if (typeof real !== "object" || real === null) return differs;
  if (Array.isArray(shown)) {
    const all = Array.isArray(real) ? real : [];
    return shown.every((item) => all.some((each) => difference(item, each) === null)) &&
        shown.length > 0 === all.length > 0
      ? null
      : differs;
  }
  for (const [name, value] of Object.entries(shown)) {
    const actual = (real as Record<string, unknown>)[name];
    const wrong = DIFFERENT.test(name)
      ? typeof actual === typeof value ? null : differs
      : difference(value, actual, `${where}.${name}`);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** Returns the shown response where it is right, with the fields that only the real one has. */
function answerToRecord(shown: unknown, real: unknown): unknown {
  const isText = typeof real !== "object" || real === null;
  if (isText || typeof shown !== "object" || shown === null) {
    return difference(shown, real) === null ? shown : real;
  }
  if (Array.isArray(real)) {
    const items = Array.isArray(shown) ? shown : [];
    return items.length === real.length
      ? real.map((item, i) => answerToRecord(items[i], item))
      : difference(shown, real) === null
      ? shown
      : real;
  }
  const known: Record<string, unknown> = { ...shown };
  return Object.fromEntries(
    Object.entries(real).map(([name, value]) => {
      const isKept = DIFFERENT.test(name) && typeof known[name] === typeof value;
      return [name, isKept ? known[name] : answerToRecord(known[name], value)];
    }),
  );
}

/** Headers set by the platform, and those of the page. */
const NOT_OURS = new Set([
  ...["content-type", "content-length", "transfer-encoding", "date", "vary"],
  ...["content-security-policy", "x-content-type-options", "referrer-policy"],
]);

function assertHeaders(operation: Endpoint, { headers, status }: Answer): void {
  const described = new Set(
    Object.keys(callOf(operation).call.responses[status]?.headers ?? {}).map((name) =>
      name.toLowerCase()
    ),
  );
  for (const [name] of headers) {
    assert(described.has(name) || NOT_OURS.has(name), `${operation.id} has the header ${name}`);
  }
  assert(headers.has("x-request-id"), operation.id);
}

operator.test("a ping that requests JSON gets the described response", async (h) => {
  const headers = { Accept: "application/json" };
  const at = schemaOf(operationOf("ping"), 200, "application/json");
  for (const query of ["agent=nightly", "agent=nightly&model=gpt-4o&input_tokens=9"]) {
    const answer = await h.get(`/v1/ping?${query}`, { headers });
    assertEquals(answer.status, 200);
    assertEquals(judgeClosed(at, answer.json), null);
  }
});

operator.test("a repeated example is answered as its retry class says", async (h, t) => {
  for (const operation of ENDPOINTS.filter(({ method }) => method !== "GET")) {
    await t.step(operation.id, async () => {
      const { key } = await h.addTeam("business");
      const scenario = scenarioOf(h, key);
      const first = await scenario.send(operation);
      const { body } = withId(exampleFor(operation), first);
      const again = await h.request(operation.method, scenario.withRealNames(urlOf(operation)), {
        key: keyFor(operation, key),
        ...(body === undefined ? {} : { body }),
      });
      const type = again.headers.get("content-type") ?? "";
      if (again.status < 400) {
        const schema = schemaOf(operation, again.status, type);
        assertEquals(judgeClosed(schema, again.json), null, again.text);
        assertHeaders(operation, again);
      } else assertRefusal(operation, again);
      if (operation.idempotency === "id") {
        assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
        assertEquals(again.json, first.json);
      }
    });
  }
});

/** Adds an id for a retry: the first response's id if the example sends none. */
function withId(example: Example, { json }: Answer): Example {
  const { body } = example;
  if (typeof body !== "object" || body === null || !("agent" in body)) return example;
  return "kind" in body ? example : { ...example, body: { id: json.id, ...body } };
}

/** Fails unless a refusal's status, code, body and headers are among the described ones. */
function assertRefusal(operation: Endpoint, answer: Answer): void {
  const { call } = callOf(operation);
  const where = `${operation.id} ${answer.status} ${answer.text}`;
  const ref = call.responses[answer.status]?.$ref;
  assert(ref !== undefined, where);
  const isText = operation.errorsAs === "text";
  const type = isText ? "text/plain" : "application/json";
  const at = ["components", "responses", schemaName(ref), "content", type, "schema"];
  assertEquals(judge(at, isText ? answer.text : answer.json), null, where);
  const code = isText ? answer.text.split(" ")[0] ?? "" : answer.json.error;
  assert(schemaName(ref).split(".").includes(code), where);
}

/** Codes provoked by the attempts below. */
const PROVOKED = [
  "forbidden",
  "invalid_credential",
  "invalid_field",
  "invalid_id",
  "invalid_json",
  "missing_field",
  "not_found",
  "payload_too_large",
  "region_mismatch",
  "scope_violation",
  "unsupported_encoding",
];

operator.test("refusals match their descriptions: credential, scope, path, body", async (h, t) => {
  const noScope = await h.addKey({ kind: "api_key", scopes: [] });
  const token = await h.addKey({ kind: "ping_token", agent: "another" });
  const tries: RequestOptions[] = [
    { key: null },
    { key: h.key.replace("_eu_", "_us_") },
    { key: noScope },
    { key: token },
    { body: "{" },
    { body: {} },
    { body: { id: 1, agent: 2, model: 3, name: 4, events: 5 } },
    { body: "{}", headers: { "Content-Encoding": "br" } },
    { body: `{"a":"${"a".repeat(1_100_000)}"}` },
  ];
  const seen = new Set<string>();
  for (const operation of ENDPOINTS) {
    await t.step(operation.id, async () => {
      const { method, pathFields } = operation;
      const fitting = tries.filter(({ body }) => body === undefined || operation.body);
      const wrongPath = operation.path.replaceAll(/:\w+/g, "%00");
      const answers = [
        ...fitting.map((options) =>
          h.request(method, urlOf(operation), { key: keyFor(operation, h.key), ...options })
        ),
        ...(pathFields === undefined ? [] : [h.request(method, wrongPath)]),
      ];
      for (const answer of await Promise.all(answers)) {
        if (answer.status < 400) continue;
        assertRefusal(operation, answer);
        seen.add(operation.errorsAs === "text" ? answer.text.split(" ")[0] : answer.json.error);
      }
    });
  }
  assertEquals([...seen].sort(), PROVOKED);
});

/** Payload fields of ingest calls: invalid values are repaired as far as possible (R1 to R9). */
const LENIENT: ReadonlySet<string> = new Set([
  ..."customer_id feature metadata goal parent_run_id idle_timeout_seconds".split(" "),
  ..."idle_timeout_status scores model provider".split(" "),
]);
const INGEST: ReadonlySet<string> = new Set(["openRun", "finishRun", "sendHeartbeat"]);

operator.test(
  "a body that the server accepts matches its schema, except for payload that it repairs",
  async (h, t) => {
    const odd = [null, true, -1, 0, 1.5, 2 ** 60, "", "x", "x".repeat(300), [], ["ingest"], {}];
    for (const operation of ENDPOINTS.filter(({ body }) => body !== undefined)) {
      await t.step(operation.id, async () => {
        const { call, path, method } = callOf(operation);
        const schema = ["requestBody", "content", "application/json", "schema"];
        const at = ["paths", path, method.toLowerCase(), ...schema];
        const example = exampleFor(operation);
        assertEquals(judge(at, example.body), null);
        const described = resolved(
          document,
          call.requestBody?.content["application/json"]?.schema ?? {},
        );
        const ways = described.oneOf?.map((way) => resolved(document, way)) ?? [described];
        const names = new Set(ways.flatMap((way) => Object.keys(way.properties ?? {})));
        assert(names.size > 0);
        for (const name of names) {
          await Promise.all(odd.map(async (value) => {
            const key = keyFor(operation, (await h.addTeam("enterprise")).key);
            const body = { ...example.body as object, [name]: value };
            const answer = await h.request(operation.method, urlOf(operation), { key, body });
            const wrong = judge(at, body);
            const isMended = INGEST.has(operation.id) && LENIENT.has(name);
            const actual = `${name} ${value}: ${wrong}`;
            assert(answer.status >= 400 || isMended || wrong === null, actual);
            // A value that matches the schema is stored as sent.
            const isLost = answer.headers.has("runledger-dropped");
            assert(answer.status >= 400 || wrong !== null || !isLost, actual);
          }));
        }
      });
    }
  },
);
