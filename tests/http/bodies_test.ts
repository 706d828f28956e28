/** Bodies are counted as they arrive: announced but unsent bytes take no memory. */
import type { RunStore } from "../../domain/runs/run_store.ts";
import { Memory } from "../../runtime/memory.ts";
import { assert, assertEquals } from "@std/assert";
import { gzipSync } from "node:zlib";
import { FORM_BYTES_MAX } from "../../domain/core/limits.ts";
import { LARGE_BYTES_MIN } from "../../routes/http/admission.ts";
import { aRun } from "../support/builders/requests.ts";
import { enterprise, Harness, oneInstance } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";
import { BytesInFlight, type Flight } from "../../routes/http/bytes_in_flight.ts";
import { until } from "../support/harness/until.ts";

/** The smallest budget, which fills quickly: 20 MB for bodies, a quarter per team. */
const MEMORY_MB = 256;

/** A run with a body of the given length. */
function aLargeRun(n: number, bytes: number): string {
  const body = JSON.stringify(aRun(n));
  return `${body.slice(0, -1)},"more":"${"x".repeat(bytes - body.length - 10)}"}`;
}

/** Opens connections that announce a body, send its beginning, and then stall. */
async function stall(
  h: Harness,
  count: number,
  { path = "/v1/runs", key = null, announced = 1_048_576, sent = 1 }: {
    readonly path?: string;
    readonly key?: string | null;
    readonly announced?: number;
    readonly sent?: number;
  },
): Promise<Disposable> {
  const { hostname, port, host } = new URL(h.url);
  const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://${host}\r\n` +
    (key === null ? "" : `Authorization: Bearer ${key}\r\n`) +
    `Content-Length: ${announced}\r\n\r\n`;
  const bytes = new TextEncoder().encode(head + "x".repeat(sent));
  const connections = await Promise.all(Array.from({ length: count }, async () => {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    return connection;
  }));
  return {
    [Symbol.dispose]() {
      for (const connection of connections) connection.close();
    },
  };
}

/** Bytes currently held by bodies. */
function heldBytes(h: Harness): number {
  return h.store.memory.uses().find(({ share }) => share === "bodies")?.bytes ?? 0;
}

/** Waits until bodies hold this many bytes: written bytes may not have been read yet. */
async function untilHeld(h: Harness, isSo: (bytes: number) => boolean): Promise<void> {
  await until(() => isSo(heldBytes(h)), () => `bodies hold ${heldBytes(h)} bytes`);
}

enterprise.test("H3: 64 connections that announce bodies and send nothing cause no refusals", async (h) => {
  const { key } = await h.addTeam("free");
  using _team = await stall(h, 32, { key });
  using _stranger = await stall(h, 32, { path: "/dashboard/sign-in", announced: 30_000 });
  const own = await h.addTeam("free");
  for (let n = 0; n < 5; n++) {
    for (const each of [h.key, key, own.key]) {
      assertEquals(
        (await h.post("/v1/runs", aLargeRun(n, 28_000), { key: each })).status < 300,
        true,
      );
    }
  }
});

Deno.test("H3: a team at its share is refused; other teams reclaim its bytes when needed", async () => {
  await using h = await Harness.open({ tier: "enterprise", memory: new Memory(MEMORY_MB) });
  // Four teams each send nearly their share: together that is the entire budget.
  const teams = await Promise.all([0, 1, 2, 3].map(() => h.addTeam("enterprise")));
  const sentBytes = 1_048_575;
  const stalls = await Promise.all(teams.map(({ key }) => stall(h, 4, { key, sent: sentBytes })));
  await untilHeld(h, (bytes) => bytes >= 16 * sentBytes);
  const full = await h.post("/v1/runs", aLargeRun(1, 1_000_000), { key: teams[0]?.key ?? "" });
  assertEquals([full.status, full.json.error], [503, "overloaded"]);
  assert(full.headers.has("retry-after"));
  const other = await h.addTeam("free");
  const answers = await Promise.all(
    [1, 2].map((n) => h.post("/v1/runs", aLargeRun(n, 1_000_000), { key: other.key })),
  );
  assertEquals(answers.map(({ status }) => status), [202, 202]);
  for (const each of stalls) each[Symbol.dispose]();
  await untilHeld(h, (bytes) => bytes === 0);
});

ofInstance(
  "H3: a body's bytes are held until its response, also for a refused or inflated body",
  async () => {
    await using h = await Harness.open({ tier: "enterprise" });
    const plain = aLargeRun(1, 500_000);
    const gzip = { "Content-Encoding": "gzip" };
    const cases: [string | Uint8Array, Record<string, string>, number][] = [
      [plain, {}, 202],
      [gzipSync(plain), gzip, 200],
      [gzipSync("x".repeat(50_000_000)), gzip, 413],
      [gzipSync(plain).subarray(0, -9), gzip, 400],
      ["x".repeat(300_000), {}, 400],
      [new Uint8Array(300_000).fill(0xff), {}, 400],
    ];
    for (const [body, headers, status] of cases) {
      assertEquals((await h.post("/v1/runs", body, { headers })).status, status);
      assertEquals(heldBytes(h), 0);
    }
  },
);

Harness.test("a form has its own limit", async (h) => {
  const send = (bytes: number) =>
    h.post("/dashboard/sign-in", "x".repeat(bytes), {
      key: null,
      headers: { "Sec-Fetch-Site": "same-origin" },
    });
  assertEquals((await send(FORM_BYTES_MAX)).status, 401);
  assertEquals((await send(FORM_BYTES_MAX + 1)).status, 413);
});

ofInstance(
  "few requests with large bodies are processed concurrently, and teams take turns",
  async () => {
    const gates: PromiseWithResolvers<void>[] = [];
    const agents: string[] = [];
    const began: (() => void)[] = [];
    const runs: Partial<RunStore> = {
      async open(_, request) {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        agents.push(request.agent);
        began.shift()?.();
        await gate.promise;
        return { kind: "conflict", field: "agent" };
      },
    };
    await using h = await Harness.open({ tier: "enterprise", deps: { runs: runs as RunStore } });
    const { key: other } = await h.addTeam("enterprise");
    const open = (n: number, agent: string, key = h.key) =>
      h.post("/v1/runs", aRun(n, { agent, ignored: "x".repeat(70_000) }), { key });
    const next = () => new Promise<void>((resolve) => began.push(resolve));
    const first = next();
    const own = [1, 2, 3].map((n) => open(n, "own"));
    await first;
    const second = next();
    const theirs = open(1, "other", other);
    await second;
    // Small bodies need no slot, and the team's two others wait.
    const third = next();
    const small = h.post("/v1/runs", aRun(9, { agent: "small" }));
    await third;
    assertEquals(agents, ["own", "other", "small"]);
    for (let n = 0; n < 5; n++) {
      while (gates[n] === undefined) await next();
      gates[n]?.resolve();
    }
    const answers = await Promise.all([...own, theirs, small]);
    assertEquals(answers.map(({ status }) => status), Array(5).fill(409));
  },
);

ofInstance(
  "a compressed body waits for its slot before it is inflated, and other teams do not wait",
  async () => {
    const gate = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const runs: Partial<RunStore> = {
      async open(_, request) {
        began.resolve();
        if (request.agent === "own") await gate.promise;
        return { kind: "conflict", field: "agent" };
      },
    };
    await using h = await Harness.open({ tier: "enterprise", deps: { runs: runs as RunStore } });
    const { key: other } = await h.addTeam("enterprise");
    const open = (n: number, agent: string, bytes: number, key = h.key) => {
      const body = gzipSync(JSON.stringify(aRun(n, { agent, ignored: "x".repeat(bytes) })));
      return h.post("/v1/runs", body, { key, headers: { "Content-Encoding": "gzip" } });
    };
    const [largeBytes, waiting] = [900_000, 4];
    const first = open(0, "own", largeBytes);
    await began.promise;
    const firstBytes = heldBytes(h);
    assert(firstBytes >= largeBytes);
    const own = Array.from({ length: waiting }, (_, n) => open(n + 1, "own", largeBytes));
    await untilHeld(h, (bytes) => bytes >= firstBytes + waiting * LARGE_BYTES_MIN);
    const theirs = [await open(9, "small", 10, other), await open(8, "large", largeBytes, other)];
    assertEquals(theirs.map(({ status }) => status), [409, 409]);
    assertEquals(heldBytes(h), firstBytes + waiting * LARGE_BYTES_MIN);
    gate.resolve();
    const answers = await Promise.all([first, ...own]);
    assertEquals(answers.map(({ status }) => status), Array(1 + waiting).fill(409));
    assertEquals(heldBytes(h), 0);
  },
);

oneInstance.test("a body in one-byte chunks is refused after a few hundred of them", async (h) => {
  const { hostname, port } = new URL(h.url);
  const socket = await Deno.connect({ hostname, port: Number(port) });
  const head = `POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${h.key}\r\n` +
    "Transfer-Encoding: chunked\r\n\r\n";
  const payloadBytes = new TextEncoder().encode(head + "1\r\n \r\n".repeat(20_000));
  const sending = (async () => {
    for (let at = 0; at < payloadBytes.length;) at += await socket.write(payloadBytes.subarray(at));
  })().catch(() => {});
  const buffer = new Uint8Array(4_096);
  const count = await socket.read(buffer) ?? 0;
  const answer = new TextDecoder().decode(buffer.subarray(0, count));
  assert(answer.startsWith("HTTP/1.1 400"), answer);
  assert(answer.includes("chunks of less than 32 bytes"), answer);
  socket.close();
  await sending;
  // The team's bodies without a length are paused; other teams' are read.
  const stream = () => new Blob([JSON.stringify(aRun(1))]).stream();
  const chunked = (key: string) =>
    fetch(`${h.url}/v1/runs`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}` },
      body: stream(),
    });
  const refused = await chunked(h.key);
  assertEquals([refused.status, (await refused.json()).error], [503, "overloaded"]);
  const theirs = await chunked((await h.addTeam("free")).key);
  assertEquals(theirs.status, 202);
  await theirs.body?.cancel();
  assertEquals((await h.post("/v1/runs", aRun(1))).status, 202);
});

oneInstance.test("few of a team's bodies without a length are read concurrently, and other teams do not wait", async (h) => {
  const other = await h.addTeam("free");
  const post = (key: string, n: number) => {
    const text = JSON.stringify(aRun(n));
    const { readable, writable } = new TransformStream<Uint8Array>();
    const writer = writable.getWriter();
    const send = (part: string) => writer.write(new TextEncoder().encode(part));
    const answer = fetch(`${h.url}/v1/runs`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}` },
      body: readable,
    }).then(async ({ status, body }) => (await body?.cancel(), status));
    return {
      begin: () => send(text.slice(0, 10)),
      async end() {
        await send(text.slice(10));
        await writer.close();
        return await answer;
      },
    };
  };
  const own = [1, 2, 3, 4].map((n) => post(h.key, n));
  for (const body of own) await body.begin();
  await untilHeld(h, (bytes) => bytes >= 4 * 16_384);
  const [fifth, theirs] = [post(h.key, 5), post(other.key, 6)];
  await fifth.begin();
  const later = fifth.end();
  await theirs.begin();
  assertEquals(await theirs.end(), 202);
  assertEquals((await h.get(`/v1/runs/${aRun(5).id}`)).status, 404);
  assertEquals(await own[0]?.end(), 202);
  assertEquals(await later, 202);
  for (const body of own.slice(1)) assertEquals(await body.end(), 202);
});

/** Starts flights, and records which were dropped. */
function flights(bytesMax: number) {
  const all = new BytesInFlight(bytesMax);
  const givenUp: string[] = [];
  const begin = (team: string, name: string, bytes: number): Flight => {
    const flight = all.begin(team, () => givenUp.push(name));
    assertEquals(flight.take(bytes), true, name);
    return flight;
  };
  return { all, givenUp, begin };
}

Deno.test("bytes in flight: a team has a quarter, plus one larger body", () => {
  const { all, begin } = flights(1_000);
  const first = begin("a", "a1", 250);
  assertEquals(all.begin("a", () => {}).take(1), false);
  first[Symbol.dispose]();
  assertEquals(all.bytes, 0);
  const large = begin("a", "a2", 200);
  assert(large.take(450));
  assertEquals(all.begin("a", () => {}).take(251), false);
  const small = begin("a", "a3", 250);
  assertEquals(all.begin("a", () => {}).take(1), false);
  for (const each of [large, small]) each[Symbol.dispose]();
  assertEquals(all.bytes, 0);
  const next = begin("a", "a4", 900);
  next[Symbol.dispose]();
  assertEquals([all.bytes, all.largestBytes], [0, 375]);
});

Deno.test("bytes in flight: the oldest body of the largest team is dropped for another team", () => {
  const { all, givenUp, begin } = flights(1_000);
  const teams = ["a", "b", "c", "d"].flatMap((team) =>
    [1, 2].map((n) => begin(team, `${team}${n}`, team === "b" && n === 1 ? 124 : 125))
  );
  const small = begin("e", "e1", 1);
  assertEquals([all.bytes, givenUp], [1_000, []]);
  assert(small.take(100));
  assertEquals([all.bytes, givenUp], [975, ["a1"]]);
  assertEquals([teams[0]?.isGivenUp, teams[0]?.take(1)], [true, false]);
  // The largest holder gets nothing from smaller ones.
  assert(small.take(25));
  assertEquals(begin("f", "f1", 100).isGivenUp, false);
  assertEquals([all.bytes, givenUp], [975, ["a1", "c1"]]);
});

Deno.test("bytes in flight: complete bodies are not dropped, and a large one waits for smaller ones", () => {
  const { all, givenUp, begin } = flights(1_000);
  for (const team of ["a", "b", "c", "d"]) begin(team, team, 250).keep();
  assertEquals(all.begin("e", () => {}).take(1), false);
  const { begin: other, all: others, givenUp: none } = flights(1_000);
  for (const team of ["a", "b", "c", "d"]) other(team, team, 250);
  assertEquals(others.begin("e", () => {}).take(300), false);
  assertEquals([givenUp, none], [[], []]);
});
