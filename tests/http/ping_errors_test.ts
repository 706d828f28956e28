/** Refusals of `/v1/ping`: one line of text, its first word the code (section 3). */
import { assertEquals, assertMatch } from "@std/assert";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunStore } from "../../domain/runs/run_store.ts";
import { type Answer, Harness, type HarnessOptions, KEY } from "../support/harness/harness.ts";
import { ask, AUTH, get } from "../support/harness/raw_socket.ts";

/** Common form of every refusal on this path, with GET and with HEAD. */
function checkRefusal(sent: Answer, status: number, code: string, hasBody = true): void {
  assertEquals([sent.status, sent.headers.get("x-error-code")], [status, code]);
  assertEquals(sent.headers.get("cache-control"), "no-store");
  assertEquals(sent.headers.get("www-authenticate"), status === 401 ? "Bearer" : null);
  assertMatch(sent.headers.get("content-type") ?? "", /^text\/plain/);
  if (hasBody) {
    assertEquals(sent.text.split(" ")[0], code);
    assertMatch(sent.text, /^[a-z_]+ [^\n\r]{10,}\n$/);
  } else assertEquals(sent.text, "");
}

function failing(error: Error): HarnessOptions {
  const fail = () => Promise.reject(error);
  const writes = { open: fail, append: fail, finish: fail, heartbeat: fail, ping: fail };
  const runs: RunStore = { ...writes, find: fail };
  return { deps: { runs } };
}

for (
  const [status, code, options] of [
    [503, "storage_unavailable", failing(new StorageUnavailable("no disk"))],
    [500, "internal_error", failing(new Error("a bug"))],
    [503, "shutting_down", { deps: { draining: () => true } }],
  ] as const
) {
  Deno.test(`section 3: ${code} on ping is ${status} in text, also for HEAD`, async () => {
    await using h = await Harness.open(options);
    for (const method of ["GET", "HEAD"]) {
      const response = await h.request(method, "/v1/ping?agent=cron");
      checkRefusal(response, status, code, method === "GET");
      assertEquals(/^[1-5]$/.test(response.headers.get("retry-after") ?? ""), status === 503);
    }
  });
}

Harness.test("decision 3: a broken parameter does not discard the key of the same query", async (h) => {
  const response = await h.get(`/v1/ping?key=${KEY}&agent=cron&metadata=100%`, { key: null });
  checkRefusal(response, 400, "invalid_field");
});

Harness.test("section 3: a URL of 60 KiB gets the line of text; a longer one is refused by the runtime", async (h) => {
  const before = await h.dump();
  for (const method of ["GET", "HEAD"]) {
    const long = await h.request(method, `/v1/ping?agent=${"x".repeat(60 * 1024)}`);
    checkRefusal(long, 400, "invalid_field", method === "GET");
  }
  const path = `/v1/ping?agent=${"x".repeat(66 * 1024)}`;
  const longer = await ask(h.url, get(path, "Host: x", AUTH, "Connection: close"));
  assertEquals([longer?.status, longer?.body, longer?.headers.get("content-type")], [
    400,
    "",
    null,
  ]);
  assertEquals(await h.dump(), before);
});
