/** `/dashboard/spend`: the bill, its breakdown, and missing prices. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Harness } from "../support/harness/harness.ts";
import { session, signedIn, textOf } from "../support/harness/dashboard.ts";
import {
  aContribution,
  DOLLAR,
  LINE,
  storeSpend,
  UNCOUNTED,
  UNPRICED,
} from "../support/builders/spend.ts";

const SPEND = "/dashboard/spend";
/** One dollar of one agent today, three dollars of another the day before. */
const TWO_AGENTS = [
  aContribution({ labels: { agent: "small", customer: "acme" } }),
  aContribution({
    day: "2026-11-20",
    labels: { agent: "large", status: "failed" },
    models: [{ ...LINE, model: "gpt-5", cost: 3n * DOLLAR }],
  }),
];

/** Returns the links of a page by their text. */
function linksOf(html: string): Map<string, string> {
  return new Map(
    [...html.matchAll(/<a (?:class="[^"]*" )?href="([^"]*)"[^>]*>(.*?)<\/a>/gs)].map((
      [, href = "", text = ""],
    ) => [textOf(text), href.replaceAll("&amp;", "&")]),
  );
}

Harness.test("spend: the bill is shown as a sentence, as totals, by group and by day", async (h) => {
  await storeSpend(h, TWO_AGENTS);
  const { status, text } = await (await signedIn(h)).get(SPEND);
  assertEquals(status, 200);
  const content = textOf(text);
  assertMatch(content, /\$4\.0000 from Oct 23 to Nov 21, 2026: large 75%, small 25%\./);
  assertMatch(content, /Cost per successful run \$4\.0000/);
  assertMatch(content, /large \$3\.0000 75% 1 0 – 1K 200 100 Runs/);
  assertMatch(content, /small \$1\.0000 25% 1 1 \$1\.0000 1K 200 100 Runs/);
  assertMatch(content, /Nov 20 \$3\.0000 \$3\.0000 \$0\.0000 Nov 21 \$1\.0000 \$0\.0000 \$1\.0000/);
  assert(!content.includes("no price"), "nothing is unpriced");
});

/** Returns the chart of a page. */
function chartOf(text: string): string {
  return /<figure class="chart".*?<\/figure>/s.exec(text)?.[0] ?? "";
}

/** Returns the colours of the columns of a chart, from the bottom up. */
function coloursOf(text: string): string[] {
  return [...chartOf(text).matchAll(/<rect class="(\w+)" x=/g)]
    .flatMap(([, colour = ""]) => colour === "place" ? [] : [colour]).reverse();
}

Harness.test("spend: the chart has a title, and each column has its amount and links to its runs", async (h) => {
  await storeSpend(h, TWO_AGENTS);
  const { text } = await (await signedIn(h)).get(`${SPEND}?from=2026-11-20&to=2026-11-21`);
  const chart = chartOf(text);
  assertMatch(chart, /aria-label="Cost from Nov 20 to Nov 21, 2026, by agent: \$4\.0000 in all\./);
  assertMatch(
    chart,
    /href="\/dashboard\/runs\?from=2026-11-20&amp;to=2026-11-20&amp;root=false" aria-label="Nov 20: \$3\.0000, large \$3\.0000"/,
  );
  assertMatch(
    textOf(chart),
    /^\$0 \$1 \$2 \$3 Nov 20: \$3\.0000, large \$3\.0000 Nov 21: \$1\.0000, small \$1\.0000 Nov 20 Nov 21$/,
  );
  const [table = ""] = /<tbody>.*?<\/tbody>/s.exec(text) ?? [];
  const swatches = [...table.matchAll(/<rect class="(c\d)".*?<a [^>]*>(\w+)/gs)];
  assertEquals(swatches.map(([, colour, group]) => [colour, group]), [
    ["c1", "large"],
    ["c2", "small"],
  ]);
  assert(!/style=|<script(?![^>]*src=)/.test(text), "nothing that the policy blocks");
});

session.test("spend: grouped by day, the chart shows agents in colours, and the table all days", async ({ h, reader }) => {
  await storeSpend(h, TWO_AGENTS);
  const { text } = await reader.get(`${SPEND}?group_by=day&from=2026-11-20&to=2026-11-21`);
  const [legend = ""] = /<ul class="legend".*?<\/ul>/s.exec(text) ?? [];
  assertEquals(coloursOf(text), ["c2", "c1"]);
  assertEquals(textOf(legend), "large $3.0000 75% small $1.0000 25%");
  assert(!text.includes("all others"), "no series of others");
  assertMatch(textOf(text), /Nov 20 \$3\.0000 75% 1 0 – 1K 200 100 Runs Nov 21 \$1\.0000 25% 1 1/);
});

Harness.test("spend: grouped by status, each status has its own colour at any cost", async (h) => {
  const statuses = ["timeout", "cancelled", "failed", "running", "success"] as const;
  await storeSpend(
    h,
    statuses.map((status, n) =>
      aContribution({ labels: { status }, models: [{ ...LINE, cost: BigInt(9 - n) * DOLLAR }] })
    ),
  );
  const { text } = await (await signedIn(h)).get(`${SPEND}?group_by=status`);
  assertEquals(coloursOf(text), [...statuses]);
});

session.test("spend: the cost is compared with as many days before, under the same filters", async ({ h, reader }) => {
  await storeSpend(h, [
    ...TWO_AGENTS,
    aContribution({ day: "2026-11-19", labels: { agent: "large" } }),
    aContribution({ day: "2026-11-18", labels: { agent: "other" } }),
    aContribution({ day: "2026-11-17", labels: { agent: "large" } }),
    aContribution({ day: "2026-11-10", cost: 50_000_000_000n }),
  ]);
  const textAt = async (query: string) => await reader.words(`${SPEND}?${query}`);
  const days = "from=2026-11-20&to=2026-11-21";
  assertMatch(await textAt(days), /▲ 100% more than \$2\.0000 in the 2 days before\./);
  assertMatch(await textAt(days), /average of the 2 days before/);
  assertMatch(await textAt(`${days}&agent=large`), /▲ 200% more than \$1\.0000 in the 2 days/);
  assertMatch(await textAt("from=2026-11-17&to=2026-11-19"), /Nothing in the 3 days before\./);
  const week = await textAt("from=2026-11-11&to=2026-11-17");
  assertMatch(week, /▲ 20 times the \$0\.0500 of the 7 days before\./);
});

Harness.test("spend: grouped by day, agents beyond the costliest are one series", async (h) => {
  await storeSpend(
    h,
    Array.from({ length: 10 }, (_, n) => aContribution({ labels: { agent: `agent-${n}` } })),
  );
  const { text } = await (await signedIn(h)).get(`${SPEND}?group_by=day`);
  const [legend = ""] = /<ul class="legend".*?<\/ul>/s.exec(text) ?? [];
  assertMatch(textOf(legend), /^agent-0 \$1\.0000 10% .* agent-7 .* all others \$2\.0000 20%$/);
});

session.test("spend: each group links to its own page and to its runs, with the same days and filters", async ({ h, reader }) => {
  await storeSpend(h, TWO_AGENTS);
  const query = "from=2026-11-01&to=2026-11-21&status=success";
  const links = linksOf((await reader.get(`${SPEND}?${query}`)).text);
  assertEquals(
    links.get("small"),
    `${SPEND}?from=2026-11-01&to=2026-11-21&group_by=model&agent=small&status=success`,
  );
  assertEquals(
    links.get("Runs"),
    "/dashboard/runs?agent=small&status=success&from=2026-11-01&to=2026-11-21&root=false",
  );
  assertEquals(
    links.get("By customer"),
    `${SPEND}?${query.replace("&st", "&group_by=customer&st")}`,
  );
  assertEquals(links.get("Download as CSV"), `${SPEND}.csv?${query}`);
  const models = linksOf((await reader.get(`${SPEND}?group_by=model`)).text);
  assertEquals(models.get("openai/gpt-5"), `${SPEND}?group_by=agent&model=gpt-5&provider=openai`);
});

session.test("spend: periods link to their days, and the current one is marked", async ({ reader }) => {
  const links = linksOf((await reader.get(SPEND)).text);
  const periods = {
    "Today": "2026-11-21&to=2026-11-21",
    "7 days": "2026-11-15&to=2026-11-21",
    "30 days": "2026-10-23&to=2026-11-21",
    "Nov": "2026-11-01&to=2026-11-21",
    "Oct": "2026-10-01&to=2026-10-31",
    "Feb": "2026-02-01&to=2026-02-28",
    "Jan": "2026-01-01&to=2026-01-31",
    "Dec 2025": "2025-12-01&to=2025-12-31",
    "Oct 2025": "2025-10-01&to=2025-10-31",
  };
  for (const [name, days] of Object.entries(periods)) {
    assertEquals(links.get(name), `${SPEND}?from=${days}`);
  }
  const { text } = await reader.get(links.get("Oct") ?? "");
  assertMatch(text, /aria-current="page"[^>]*>Oct</);
});

session.test("spend: a customer's cost in any month is three links from the overview, at any time of the year", async ({ h, reader }) => {
  const months = ["2025-10", "2025-12", "2026-01", "2026-10", "2026-11"];
  await storeSpend(
    h,
    months.map((month, n) =>
      aContribution({
        day: `${month}-07`,
        labels: { customer: "acme" },
        models: [{ ...LINE, cost: BigInt(n + 1) * DOLLAR }],
      })
    ),
  );
  const follow = async (path: string, name: string) => {
    const link = linksOf((await reader.get(path)).text).get(name);
    assert(link, `${name} on ${path}`);
    return link;
  };
  const customers = await follow(await follow("/dashboard", "Spend"), "By customer");
  for (const [n, name] of ["Oct 2025", "Dec 2025", "Jan", "Oct", "Nov"].entries()) {
    const { text } = await reader.get(await follow(customers, name));
    assertMatch(textOf(text), new RegExp(`acme \\$${n + 1}\\.0000 100% 1 `), name);
  }
});

session.test("spend: without runs the page shows a command that sends one; with filters it says so", async ({ h, reader }) => {
  const { text } = await reader.get(SPEND);
  assertStringIncludes(
    textOf(text),
    `curl -u "$RUNLEDGER_KEY:" "${new URL(h.url).origin}/v1/heartbeats"`,
  );
  assertMatch(await reader.words(`${SPEND}?agent=nobody`), /No such runs/);
});

Harness.test("spend: an invalid query is shown again with an error at its field", async (h) => {
  const { status, text } = await (await signedIn(h)).get(`${SPEND}?from=yesterday&agent=a`);
  assertEquals(status, 400);
  assertMatch(
    text,
    /value="yesterday"[^>]* name="from" aria-describedby="from-problem from-hint" aria-invalid="true"/,
  );
  assertMatch(
    text,
    /<small id="from-problem" class="wrong">Parameter &quot;from&quot; must be a UTC day/,
  );
  assertMatch(text, /value="a"[^>]* name="agent"/);
});

session.test("spend: the costliest of many groups are shown and the others aggregated, until all are requested", async ({ h, reader }) => {
  await storeSpend(
    h,
    Array.from({ length: 60 }, (_, n) => aContribution({ labels: { agent: `agent-${n}` } })),
  );
  const some = await reader.get(SPEND);
  assertMatch(textOf(some.text), /10 more: show all \$10\.0000/);
  assert(!some.text.includes(">agent-9<"));
  const all = await reader.get(linksOf(some.text).get("10 more: show all") ?? "");
  assertStringIncludes(all.text, ">agent-9<");
});

Harness.test("spend: models without a price are listed with calls, tokens, an estimate and a link to add one", async (h) => {
  const model = { ...UNPRICED, model: "gpt-4o-next", inputTokens: 1_000_000n, outputTokens: 0n };
  await storeSpend(h, [aContribution({ models: [model, LINE] })]);
  const { text } = await (await signedIn(h)).get(SPEND);
  const [banner = ""] = /<section id="unpriced".*?<\/section>/s.exec(text) ?? [];
  assertMatch(
    textOf(banner),
    /1 model has no price .* openai\/gpt-4o-next Add a price 1 1M 0 about \$2\.4998 , as openai\/gpt-4o /,
  );
  assertStringIncludes(banner, "/dashboard/rate-card/new?provider=openai&amp;model=gpt-4o-next");
});

session.test("R27: models whose calls have no tokens are listed with what to do", async ({ h, reader }) => {
  const bannerOf = async () => {
    const { text } = await reader.get(SPEND);
    return textOf(/<section id="unpriced".*?<\/section>/s.exec(text)?.[0] ?? "");
  };
  await storeSpend(h, [aContribution({ models: [UNCOUNTED, LINE] })]);
  const alone = await bannerOf();
  assertMatch(alone, /1 model has calls without token counts .* send the provider's usage/);
  assertMatch(alone, /openai\/gpt-4o send token counts 1 0 0 no token counts/);
  await storeSpend(h, [aContribution({ models: [UNPRICED] })]);
  assertMatch(await bannerOf(), /2 models have calls without a price or without token counts/);
});

session.test("spend.csv: has the same groups with exact amounts, escapes formulas, and splits models into two columns", async ({ h, reader }) => {
  await storeSpend(h, [
    aContribution({
      labels: { agent: "=cmd()" },
      models: [{ ...LINE, model: 'a,"b"', cost: 1_234_567_890_123_456_789n }],
    }),
    aContribution({ labels: { agent: "b" }, models: [UNPRICED] }),
  ]);
  const { headers, text } = await reader.get(`${SPEND}.csv`);
  assertMatch(headers.get("content-type") ?? "", /^text\/csv/);
  assertEquals(
    headers.get("content-disposition"),
    'attachment; filename="spend-agent-2026-10-23-2026-11-21.csv"',
  );
  const [head, ...lines] = text.split("\r\n");
  assertMatch(head ?? "", /^agent,groups_folded,cost_usd,runs,successful_runs,cost_per_succ/);
  assertEquals(lines, [
    "'=cmd(),,1234567.890123456789,1,1,1234567.890123456789,3,2,1000,100,200,0,0,0,0",
    "b,,0,1,1,0,2,1,1000,100,200,1,1000,100,200",
    "",
  ]);
  const models = await reader.get(`${SPEND}.csv?group_by=model&agent=b`);
  assertMatch(models.text, /^provider,model,[^]*\r\nopenai,brand-new,,0,1,1,0,/);
  assertEquals((await reader.get(`${SPEND}.csv?to=never`)).status, 400);
});
