/** `ETag` and `If-None-Match`: an unchanged record is not sent again. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { aFinish, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { put } from "../support/builders/rate_cards.ts";

const RUN = `/v1/runs/${runId(1)}`;

/** Each record with a tag, and a change to it. */
const RECORDS: Readonly<Record<string, (h: Harness) => Promise<unknown>>> = {
  [RUN]: (h) => h.post(`${RUN}/events`, { events: [anEvent(9)] }),
  [`${RUN}/cost`]: (h) => h.post(`${RUN}/finish`, aFinish()),
  "/v1/agents/researcher": (h) => h.post("/v1/runs", aRun(2)),
  "/v1/rate-card?source=own": (h) => put(h, { model: "atlas" }),
  "/v1/usage": (h) => h.post("/v1/runs", aRun(3)),
};

for (const [path, change] of Object.entries(RECORDS)) {
  Harness.test(`ETag: ${path} is 304 until it changes`, async (h) => {
    await h.post("/v1/runs", aRun(1));
    const first = await h.getFinal(path);
    const tag = first.headers.get("etag") ?? "";
    assertMatch(tag, /^"[^"]+"$/);
    for (const knownTag of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const same = await h.get(path, { headers: { "If-None-Match": knownTag } });
      assertEquals([same.status, same.text, same.headers.get("etag")], [304, "", tag], knownTag);
      assertEquals(same.headers.get("content-type"), null);
      for (const name of ["x-request-id", "ratelimit", "ratelimit-policy"]) {
        assert(same.headers.has(name), name);
      }
    }
    for (const other of ['"other"', tag.slice(1, -1), "", `${tag.slice(0, -1)}x"`]) {
      const complete = await h.get(path, { headers: { "If-None-Match": other } });
      assertEquals([complete.status, complete.text], [200, first.text], other);
    }
    await change(h);
    const later = await h.getFinal(path, { headers: { "If-None-Match": tag } });
    assertEquals(later.status, 200);
    assertNotEquals(later.headers.get("etag"), tag);
    assertNotEquals(later.text, first.text);
  });
}

Harness.test("ETag: HEAD has the tag of GET, and a page of events its own", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${RUN}/events`, { events: [anEvent(1), anEvent(2)] });
  await h.worker.idle();
  const tagOf = async (method: string, query = "") =>
    (await h.request(method, RUN + query)).headers.get("etag");
  assertEquals(await tagOf("HEAD"), await tagOf("GET"));
  assertNotEquals(await tagOf("GET", "?events_limit=1"), await tagOf("GET"));
});

Harness.test("ETag: a refusal has none, and knowing a tag gives no access", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const tag = (await h.getFinal(RUN)).headers.get("etag") ?? "";
  const other = await h.addTeam("business");
  const headers = { "If-None-Match": tag };
  for (const [key, status] of [[other.key, 404], [null, 401]] as const) {
    const refused = await h.get(RUN, { key, headers });
    assertEquals([refused.status, refused.headers.get("etag")], [status, null]);
  }
});
