/** Tests the program as an operator uses it: settings, keys, and files that it must refuse. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { developmentKey } from "../../domain/teams/credentials.ts";
import { VERSION } from "../../domain/core/version.ts";
import { Process, runToEnd } from "../support/harness/process.ts";
import { inFolder } from "../support/harness/temp_store.ts";

const DEV_KEY = developmentKey("eu");
const EXIT_SETTINGS = 2, EXIT_STORE = 3, EXIT_RETRY = 4;

/** Returns the status of a ping with a key. */
async function ping(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/v1/ping?agent=a`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  await response.body?.cancel();
  return response.status;
}

/** Returns the keys that a text contains. */
function keysIn(text: string): string[] {
  return [...new Set(text.match(/apk_[a-z]{2}_[0-9a-f]{32}/g))];
}

inFolder.test("settings: all problems are listed, one per line, and the program ends with 2", async (folder) => {
  const wrong = {
    PORT: "x",
    RUNLEDGER_TIER: "gold",
    RUNLEDGER_REGOIN: "eu",
    // Others could use it: a proxy on this machine exposes the loopback address to everyone.
    RUNLEDGER_KEY: DEV_KEY,
  };
  const RUNLEDGER_KV = `${folder}/test.kv`;
  const { code, stderr, stdout } = await runToEnd({ ...wrong, RUNLEDGER_KV });
  assertEquals([code, stdout], [EXIT_SETTINGS, ""]);
  const lines = stderr.trim().split("\n").map((line) => line.trim());
  assertEquals(lines.length, 1 + Object.keys(wrong).length, stderr);
  for (const name of Object.keys(wrong)) {
    assert(lines.some((line) => line.startsWith(name)), `${name} is missing in ${stderr}`);
  }
  // Nothing was created.
  assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
});

inFolder.test("first key: generated on a new ledger, shown once, and valid afterwards", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv` };
  await using first = await Process.start(settings);
  await first.says(/Try it:\n.*\n/);
  assertStringIncludes(first.stderr, `Created a new ledger at ${settings.RUNLEDGER_KV}\n`);
  const [key = "", ...more] = keysIn(first.stderr);
  assertEquals(more, []);
  assertMatch(first.stderr, /shown only now/);
  assertEquals(await ping(first.url, key), 200);
  const { stdout } = await first.stop();
  assertEquals(keysIn(stdout), []);

  await using second = await Process.start(settings);
  assertEquals(await ping(second.url, key), 200);
  assertEquals(await ping(second.url, DEV_KEY), 401);
  const { code, stderr } = await second.stop();
  assertEquals([code, keysIn(stderr)], [0, []]);
  assert(!stderr.includes("Created"), stderr);
});

/** Revokes the key that sends this. */
async function revokeOwn(url: string, key: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}` };
  const me = await (await fetch(`${url}/v1/me`, { headers })).json();
  const sent = await fetch(`${url}/v1/keys/${me.key.id}`, { method: "DELETE", headers });
  const text = await sent.text();
  assertEquals(sent.status, 200, text);
}

inFolder.test("first key: a configured key works and is never shown", async (folder) => {
  const key = `apk_us_${"5e".repeat(16)}`;
  const settings = {
    RUNLEDGER_KV: `${folder}/test.kv`,
    RUNLEDGER_REGION: "us",
    RUNLEDGER_KEY: key,
  };
  // R30: another key on an existing ledger is said to be one more.
  const other = `apk_us_${"6f".repeat(16)}`;
  for (const [own, flags] of [[key, ["--dev"]], [other, []]] as const) {
    await using process = await Process.start({ ...settings, RUNLEDGER_KEY: own }, ...flags);
    assertEquals([await ping(process.url, key), await ping(process.url, own)], [200, 200]);
    if (own === other) await revokeOwn(process.url, own);
    const { stderr, stdout } = await process.stop();
    assertEquals(keysIn(stderr + stdout), [], flags.join());
    assertEquals(/its other keys still work/.test(stderr), own === other, stderr);
    assertMatch(stderr, /^Stopping: .*\nStopped: .*\n$/m);
  }
  // A revoked one stays revoked, and the start says so.
  await using process = await Process.start({ ...settings, RUNLEDGER_KEY: other });
  await process.says(/RUNLEDGER_KEY was revoked on 20\d\d-\d\d-\d\d and stays revoked/);
  assertEquals([await ping(process.url, key), await ping(process.url, other)], [200, 401]);
  await process.stop();
});

/** Returns the status of a request with this Host and Sec-Fetch-Site. */
async function statusFor(url: string, path: string, ...headers: string[]): Promise<number> {
  const { hostname, port } = new URL(url);
  using socket = await Deno.connect({ hostname, port: Number(port) });
  const head = [`GET ${path} HTTP/1.1`, ...headers, "Connection: close", "", ""].join("\r\n");
  await socket.write(new TextEncoder().encode(head));
  const answer = await new Response(socket.readable).text();
  return Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1]);
}

inFolder.test("development key: it works with --dev only, for local names and no other site's page", async (folder) => {
  const RUNLEDGER_KV = `${folder}/test.kv`;
  {
    await using dev = await Process.start({ RUNLEDGER_KV }, "--dev");
    await dev.says(/Try it:\n.*\n/);
    assertEquals(keysIn(dev.stderr), [DEV_KEY]);
    const ask = (...headers: string[]) =>
      statusFor(dev.url, `/v1/ping?agent=a&key=${DEV_KEY}`, ...headers);
    for (const host of ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]:9"]) {
      assertEquals(await ask(`Host: ${host}`), 200, host);
    }
    for (const host of ["evil.example", "localhost.evil.example:80", "10.0.0.1", "[::2]"]) {
      assertEquals(await ask(`Host: ${host}`), 400, host);
      assertEquals(await statusFor(dev.url, "/dashboard", `Host: ${host}`), 400, host);
    }
    const from = (site: string) => ask("Host: localhost", `Sec-Fetch-Site: ${site}`);
    assertEquals(
      await Promise.all(["none", "same-origin", "same-site", "cross-site"].map(from)),
      [200, 200, 401, 401],
    );
    await dev.stop();
  }
  // A start without it generates another.
  await using process = await Process.start({ RUNLEDGER_KV });
  const [, own = ""] = await process.says(/shown only now: (apk_eu_[0-9a-f]{32})\n/) ?? [];
  assertEquals([await ping(process.url, DEV_KEY), await ping(process.url, own)], [401, 200]);
  await process.stop();
});

inFolder.test("store: a second process on the same file ends with 3 and one line with the first one's pid", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv` };
  await using first = await Process.start(settings);
  const { code, stderr, stdout } = await runToEnd(settings);
  assertEquals([code, stdout], [EXIT_STORE, ""], stderr);
  assertMatch(stderr, new RegExp(`^.* process ${first.pid}\\b.*\n$`));
  // The first one is alive and ready, which needs no credential.
  const answers = await Promise.all(["/healthz", "/readyz"].map(async (path) => {
    const response = await fetch(first.url + path);
    return [response.status, await response.json()];
  }));
  assertEquals(answers, [[200, { status: "ok", version: VERSION }], [200, { status: "ready" }]]);
  assertEquals((await first.stop("SIGINT")).code, 0);
});

inFolder.test("R29: a port in use, and an address that is not up, end with 4 and a line that says so", async (folder) => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const PORT = String((taken.addr as Deno.NetAddr).port);
  const { code, stderr } = await runToEnd({ RUNLEDGER_KV: `${folder}/test.kv`, PORT });
  assertEquals([code, stderr.trim().split("\n").length], [EXIT_RETRY, 2]);
  assertStringIncludes(stderr, `\nCannot listen on 127.0.0.1:${PORT}`);
  // An address for documentation (RFC 5737), which no machine has.
  const down = await runToEnd({ RUNLEDGER_KV: `${folder}/test.kv`, HOST: "192.0.2.1" });
  assertEquals([down.code, down.stderr.trim().split("\n").length], [EXIT_RETRY, 1], down.stderr);
  assertStringIncludes(down.stderr, "Cannot listen on 192.0.2.1");
});
