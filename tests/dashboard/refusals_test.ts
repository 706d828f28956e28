/** The page of rejected requests, and the banner that links to it (R13). */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aRun } from "../support/builders/requests.ts";
import { signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

const PAGE = "/dashboard/refusals";
const HOUR_MS = 3_600_000;
const UA = { "User-Agent": "agentping-node/2.0" };

/** Returns the rows of each table as text. */
function tablesOf(html: string): string[][] {
  return [...html.matchAll(/<tbody>([\s\S]*?)<\/tbody>/g)].map(([, body = ""]) =>
    [...body.matchAll(/<tr>[\s\S]*?<\/tr>/g)].map(([row]) => textOf(row))
  );
}

ofInstance(
  "R13: the page shows reasons by frequency and the latest calls with their message",
  async () => {
    await using h = await Harness.open();
    h.nowMs = NOON - 3 * HOUR_MS;
    await h.post("/v1/runs", { ...aRun(1), started_at: "<b>soon</b>" }, { headers: UA });
    h.nowMs = NOON;
    for (let n = 0; n < 2; n++) {
      await h.post("/v1/runs", { id: "x", agent: "a/b" }, { headers: UA });
    }
    const { status, text } = await (await signedIn(h)).get(PAGE);
    assertEquals(status, 200);
    assertStringIncludes(textOf(text), "3 requests by hour");
    const [reasons = [], latest = []] = tablesOf(text);
    assertEquals(reasons, [
      "invalid_id id a/b agentping-node/2.0 2",
      `invalid_field started_at ${aRun(1).agent} agentping-node/2.0 1`,
    ]);
    assertEquals(latest.length, 3);
    assertMatch(
      latest[0] ?? "",
      /^today 12:00 POST \/v1\/runs invalid_id .* a\/b agentping-node\/2\.0/,
    );
    assertMatch(latest[2] ?? "", /^today 09:00 POST \/v1\/runs invalid_field .*started_at/);
    assert(!text.includes("<b>soon"), "markup from a client is escaped");
  },
);

ofInstance("R13: the page covers a day or a week, and says if nothing was rejected", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  assertStringIncludes((await reader.get(PAGE)).text, "No request was rejected");
  h.nowMs = NOON - 30 * HOUR_MS;
  await h.post("/v1/runs", { id: "x" });
  h.nowMs = NOON;
  assertStringIncludes(textOf((await reader.get(PAGE)).text), "0 requests by hour");
  const week = await reader.get(`${PAGE}?hours=168`);
  assertStringIncludes(textOf(week.text), "1 request by hour");
  assertEquals((await reader.get(`${PAGE}?hours=&unknown=1`)).status, 200);
  assertEquals((await reader.get(`${PAGE}?hours=0`)).status, 400);
});

ofInstance("R13: a banner links to the page for 24 hours, also before the first run", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("business");
  const reader = await signedIn(h);
  const banner = /(\d+) requests? (?:was|were) rejected/;
  const bannerCount = async (path: string) =>
    banner.exec(textOf((await reader.get(path)).text))?.[1] ?? null;
  assertEquals(await bannerCount("/dashboard"), null);
  await h.post("/v1/runs", { id: "x" });
  await h.post("/v1/runs", { id: "x" }, { key: other.key });
  assertEquals([await bannerCount("/dashboard"), await bannerCount("/dashboard/runs")], ["1", "1"]);
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  await h.refusals.flush();
  await h.post("/v1/runs", { id: "x" });
  assertEquals([await bannerCount("/dashboard"), await bannerCount("/dashboard/runs")], ["2", "2"]);
  h.nowMs = NOON + 24 * HOUR_MS;
  assertEquals([await bannerCount("/dashboard"), await bannerCount("/dashboard/runs")], [
    null,
    null,
  ]);
});
