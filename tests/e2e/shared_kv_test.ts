/** Tests the program and its tools on the URL of a shared KV. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { EmptyKv, KV_TOKEN } from "../support/fakes/empty_kv.ts";
import { runToEnd } from "../support/harness/process.ts";
import { runTaskWith } from "../support/harness/tools.ts";

const EXIT_SETTINGS = 2, EXIT_STORE = 3;

/** Returns a URL whose port refuses connections. */
function refusingUrl(): string {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `http://127.0.0.1:${(taken.addr as Deno.NetAddr).port}/`;
}

Deno.test("shared KV: each tool has the permissions to open a URL", async () => {
  const settings = { RUNLEDGER_KV: refusingUrl(), RUNLEDGER_KV_TOKEN: KV_TOKEN };
  for (const tool of [["verify"], ["jobs"], ["sweep"], ["sweep", "--dry-run"]]) {
    const { code, stdout, stderr } = await runTaskWith(settings, ...tool);
    assertEquals([code, stdout], [EXIT_STORE, ""], stderr);
    assertStringIncludes(stderr, "Connection refused", tool.join(" "));
    assert(!stderr.includes(KV_TOKEN), stderr);
  }
});

Deno.test("shared KV: tools open it with the token, and name the setting of a wrong one", async () => {
  await using kv = await EmptyKv.start();
  const run = (token: string, ...tool: string[]) =>
    runTaskWith({ RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: token }, ...tool);
  for (const tool of [["verify"], ["jobs"], ["sweep", "--dry-run"], ["sweep", "--reports"]]) {
    const { code, stderr } = await run(KV_TOKEN, ...tool);
    assertEquals([code, stderr], [0, ""], tool.join(" "));
  }
  const wrong = "kvt_0bad0bad0bad0bad";
  for (const token of [wrong, ""]) {
    const { code, stderr } = await run(token, "verify");
    assertEquals(code, EXIT_STORE, stderr);
    assertStringIncludes(stderr, "check RUNLEDGER_KV and RUNLEDGER_KV_TOKEN");
    assert(!stderr.includes(wrong), stderr);
  }
});

Deno.test("shared KV: the service opens it with the token, and never shows the token", async () => {
  await using kv = await EmptyKv.start();
  const settings = { RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN };
  const { stdout, stderr } = await runToEnd({
    ...settings,
    RUNLEDGER_KEY: `apk_eu_${"ab".repeat(16)}`,
  });
  assertEquals(kv.requests[0], "/");
  // The store was opened; the first commit failed.
  assert(kv.requests.includes("/v2/atomic_write"), stderr);
  assert(!(stdout + stderr).includes(KV_TOKEN), stderr);
});

Deno.test("shared KV: a start without a key on an empty one ends with 2 and prints no key", async () => {
  await using kv = await EmptyKv.start();
  const settings = { RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN };
  const { code, stdout, stderr } = await runToEnd(settings);
  assertEquals([code, stdout], [EXIT_SETTINGS, ""], stderr);
  assertMatch(stderr, /^Cannot start with these settings:\n {2}RUNLEDGER_KEY must be [^\n]+\n$/);
  assert(!/apk_[a-z]{2}_[0-9a-f]{32}/.test(stderr), stderr);
  assert(!kv.requests.includes("/v2/atomic_write"), "something was stored");
});
