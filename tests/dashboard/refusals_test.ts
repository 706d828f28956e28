/** The page of rejected requests, and the banner that links to it (R13). */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { IGNORED_PARAMETER } from "../../domain/refusals/refusals.ts";
import { aRefusal } from "../support/builders/refusals.ts";
import { aRun } from "../support/builders/requests.ts";
import { signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

const PAGE = "/dashboard/refusals";
const DAY_MS = 86_400_000;
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
    const reader = await signedIn(h);
    assertStringIncludes((await reader.get(PAGE)).text, "No request was rejected");
    h.nowMs = NOON - 3 * DAY_MS;
    await h.post("/v1/runs", { ...aRun(1), started_at: "<b>soon</b>" }, { headers: UA });
    h.nowMs = NOON - DAY_MS;
    await h.post("/v1/runs", { id: "x" }, { headers: UA });
    h.nowMs = NOON;
    await h.post("/v1/runs", { id: "x", agent: "a/b" }, { headers: UA });
    const { status, text } = await reader.get(PAGE);
    assertEquals(status, 200);
    const [reasons = [], latest = []] = tablesOf(text);
    assertEquals(reasons, ["Nov 21 invalid_id 1", "Nov 20 invalid_id 1", "Nov 18 invalid_field 1"]);
    assertEquals(latest.length, 3);
    assertMatch(
      latest[0] ?? "",
      /^today 12:00 POST \/v1\/runs invalid_id .* a\/b agentping-node\/2\.0/,
    );
    assertMatch(latest[2] ?? "", / POST \/v1\/runs invalid_field .*started_at/);
    assert(!text.includes("<b>soon"), "markup from a client is escaped");
    assertEquals((await reader.get(`${PAGE}?unknown=1`)).status, 200);
  },
);

ofInstance("R24: the page and the banner say that a call was accepted", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  const message = 'Parameter "exitcode" is not known: did you mean exit_code?';
  const route = "GET /v1/ping";
  h.refusals.note(
    h.team.id,
    aRefusal({ code: IGNORED_PARAMETER, field: "exitcode", message, route }),
  );
  const [reasons = [], latest = []] = tablesOf((await reader.get(PAGE)).text);
  const accepted = "ignored_parameter accepted, but a parameter was ignored";
  assertEquals(reasons, [`Nov 21 ${accepted} 1`]);
  assertStringIncludes(latest[0] ?? "", `${accepted}: ${message}`);
  const overview = await reader.words("/dashboard");
  const notice =
    "1 request was accepted since yesterday (UTC), but a parameter was ignored. See which and why";
  assertStringIncludes(overview, notice);
  assert(!overview.includes("rejected since"), "nothing was rejected");
  const { json } = await h.get("/v1/refusals");
  assertEquals([json.counts[0].code, json.latest[0].message], [IGNORED_PARAMETER, message]);
});

ofInstance(
  "R13: a banner links to the page until 24 hours after the last rejected call",
  async () => {
    await using h = await Harness.open();
    const other = await h.addTeam("business");
    const banner = /(\d+) requests? (?:was|were) rejected since yesterday/;
    const bannerCounts = async () => {
      const reader = await signedIn(h);
      const pages = ["/dashboard", "/dashboard/runs"].map((path) => reader.words(path));
      return (await Promise.all(pages)).map((words) => banner.exec(words)?.[1] ?? null);
    };
    assertEquals(await bannerCounts(), [null, null]);
    h.nowMs = NOON - 2 * DAY_MS;
    await h.post("/v1/runs", { id: "x" });
    h.nowMs = NOON - DAY_MS;
    await h.post("/v1/runs", { id: "x" });
    await h.refusals.flush();
    h.nowMs = NOON;
    assertEquals(await bannerCounts(), [null, null]);
    await h.post("/v1/runs", { id: "x" });
    await h.post("/v1/runs", { id: "x" }, { key: other.key });
    assertEquals(await bannerCounts(), ["2", "2"]);
    await h.post("/v1/runs", aRun(1));
    await h.worker.idle();
    await h.post("/v1/runs", { id: "x" });
    assertEquals(await bannerCounts(), ["3", "3"]);
    h.nowMs = NOON + DAY_MS;
    assertEquals(await bannerCounts(), [null, null]);
  },
);
