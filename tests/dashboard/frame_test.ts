/** The frame of every page: places, preferences, single-team mode, commands, pages not found. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { developmentKey } from "../../domain/teams/credentials.ts";
import { keys } from "../../kv/base/keys.ts";
import { createCredentialStore } from "../../kv/teams/credentials.ts";
import { aHeartbeat, aRun } from "../support/builders/requests.ts";
import {
  hrefsOf,
  type Reader,
  session,
  signedIn,
  submit,
  textOf,
} from "../support/harness/dashboard.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";

/** Requests a page with further cookies of the browser. */
function seen(h: Harness, reader: Reader, path: string, cookies = "") {
  const headers = { Cookie: `${reader.cookie}; ${cookies}` };
  return h.get(path, { key: null, headers, redirect: "manual" });
}

/** Returns the names of a navigation's links, the current one in brackets. */
function linksIn(html: string, label: string): string[] {
  const [nav = ""] = new RegExp(`<nav[^>]*aria-label="${label}".*?</nav>`, "s").exec(html) ?? [];
  return [...nav.matchAll(/<a [^>]*?(aria-current="page")?>([^<]*)<\/a>/g)]
    .map(([, isCurrent, name = ""]) => isCurrent ? `[${name}]` : name);
}

/** Returns the pages of the top bar, without the overview. */
function linkedPages(html: string): string[] {
  const [bar = ""] = /<nav[^>]*aria-label="Pages".*?<\/nav>/s.exec(html) ?? [];
  return hrefsOf(bar, "/dashboard/").concat("/dashboard/alerts/rules");
}

operator.test("the top bar has seven places and the settings, and marks the current one; a phone has five", async (h) => {
  const reader = await signedIn(h);
  const runs = (await reader.get("/dashboard/runs?status=failed")).text;
  const places = [
    "Overview",
    "[Runs]",
    "Agents",
    "Spend",
    "Alerts",
    "Checks",
    "Judges",
    "Settings",
  ];
  assertEquals(linksIn(runs, "Pages"), places);
  // The menu has the others.
  assertEquals(
    [...runs.matchAll(/<a class="only-s"[^>]*>(.*?)<\/a>/g)].map(([, name]) => name),
    ["Checks", "Judges", "Settings"],
  );
  const keys = (await reader.get("/dashboard/keys/new")).text;
  assertEquals(linksIn(keys, "Pages").at(-1), "[Settings]");
  const tabs = ["Prices", "Connect", "[Keys]", "Rejected requests", "Plan", "Audit"];
  assertEquals(linksIn(keys, "Settings"), tabs);
  const reads = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  const plan = (await reads.get("/dashboard/plan")).text;
  assertEquals(linksIn(plan, "Settings"), ["Connect", "Rejected requests", "[Plan]"]);
  assertEquals((await reader.get("/dashboard/alerts")).status, 200);
});

Harness.test("the account menu names the key and its team, not the secret", async (h) => {
  const { text } = await (await signedIn(h)).get("/dashboard/runs");
  assertMatch(textOf(text), /Account: first key .* default · ingest, read, admin .* Sign out/);
  assert(!text.includes(h.key));
});

Deno.test("without an operator there are no plans and quotas", async () => {
  for (const operatorKey of [null, OPERATOR_KEY]) {
    const operator = operatorKey === null ? {} : { operatorKey };
    await using h = await Harness.open({ tier: "free", ...operator });
    await h.post("/v1/heartbeats", aHeartbeat(1));
    await h.worker.idle();
    const hasPlan = operatorKey !== null;
    const reader = await signedIn(h);
    const audit = (await reader.get("/dashboard/audit")).text;
    assertEquals(linksIn(audit, "Settings").includes("Plan"), hasPlan);
    assertMatch(textOf(audit), /created the team default/);
    assertEquals((await reader.get("/dashboard/plan")).status, hasPlan ? 200 : 404);
    // Not even an entry of the audit log leads to it.
    assertEquals(hrefsOf(audit, "/dashboard/plan").length > 0, hasPlan);
  }
});

Deno.test("the quota banner is on the overview from 80%, on every page from 100% (R39)", async () => {
  await using h = await Harness.open({ tier: "free", operatorKey: OPERATOR_KEY });
  const reader = await signedIn(h);
  const count = (by: number) => {
    const sums = [{ key: keys.usage(h.team.id, "2026-11"), by: BigInt(by) }];
    return h.store.writer.commit({ team: h.team.id, sums });
  };
  const others = linkedPages((await reader.get("/dashboard")).text);
  assert(others.includes("/dashboard/runs") && others.length > 5, others.join());
  const bannersOn = async (path: string) => {
    const { text } = await reader.get(path);
    return textOf(text).match(/Heads-up: .*?\)|Over quota: .*?\)/g) ?? [];
  };
  await count(79_999);
  assertEquals(await bannersOn("/dashboard"), []);
  await count(1);
  const [headsUp = ""] = await bannersOn("/dashboard");
  assertMatch(headsUp, /80% or more .* 80,000 of 100,000 \(80%\)/);
  for (const path of others) assertEquals(await bannersOn(path), [], path);
  await count(40_000);
  for (const path of ["/dashboard", ...others]) {
    assertEquals((await bannersOn(path)).length, 1, path);
  }
  const over = await reader.get("/dashboard/runs");
  assertMatch(textOf(over.text), /Over quota: .* 120,000 of 100,000 \(120%\)/);
  assertMatch(over.text, /href="\/dashboard\/plan"/);
});

session.test("a page that does not exist keeps the navigation of a session", async ({ h, reader }) => {
  const { status, text } = await reader.get("/dashboard/nothing");
  assertEquals(status, 404);
  assertMatch(textOf(text), /Not found No such page: check the address/);
  assertEquals(linksIn(text, "Pages").length, 8);
  const anonymous = await h.get("/dashboard/nothing", { key: null });
  assertEquals([anonymous.status, linksIn(anonymous.text, "Pages")], [404, []]);
  await reader.send("/dashboard/sign-out");
  assertEquals(linksIn((await reader.get("/dashboard/nothing")).text, "Pages"), []);
  assertMatch((await h.get("/v1/nothing")).text, /No such path: \/docs lists all calls/);
});

session.test("theme and zone come from cookies, and other values are ignored", async ({ h, reader }) => {
  const tag = async (cookies: string) => {
    const { status, text } = await seen(h, reader, "/dashboard/runs", cookies);
    assertEquals(status, 200);
    return /<html[^>]*>/.exec(text)?.[0] ?? "";
  };
  assertStringIncludes(await tag("runledger-theme=dark"), 'data-theme="dark"');
  assert(!(await tag("")).includes("data-theme"));
  assert(!/data-theme|onload/.test(await tag(`runledger-theme="onload=alert(1)"`)));
  assertStringIncludes(await tag("runledger-zone=Asia/Tokyo"), 'data-zone="Asia/Tokyo"');
  const utc = await tag("runledger-zone=Asia/Tokyo; runledger-time=utc");
  assertMatch(utc, /data-zone="UTC" data-utc="true"/);
  for (const zone of ["", "Nowhere/City", "%22%3E", "x".repeat(50), "../etc"]) {
    assertStringIncludes(await tag(`runledger-zone=${zone}`), 'data-zone="UTC"');
  }
});

session.test("times are in the browser's zone, with the exact instant in UTC", async ({ h, reader }) => {
  for (const [n, ms] of [0, 6 * 3_600_000, 30 * 3_600_000, 40 * 86_400_000].entries()) {
    const started_at = new Date(NOON - ms).toISOString();
    await h.post("/v1/runs", aRun(n + 1, { started_at }));
  }
  await h.worker.idle();
  const times = async (cookies: string) => {
    const { text } = await seen(h, reader, "/dashboard/runs", cookies);
    const rows = text.slice(text.indexOf("<tbody>"));
    return [...rows.matchAll(/<time datetime="[^"]*" title="[^"]*" data-at="[^"]*">([^<]*)</g)]
      .map(([, time]) => time);
  };
  assertEquals(await times(""), ["today 12:00", "today 06:00", "yesterday 06:00", "Oct 12, 12:00"]);
  assertEquals(await times("runledger-zone=Asia/Tokyo"), [
    "today 21:00",
    "today 15:00",
    "yesterday 15:00",
    "Oct 12, 21:00",
  ]);
  const los = "runledger-zone=America/Los_Angeles";
  const west = ["today 04:00", "yesterday 22:00", "Nov 19, 22:00", "Oct 12, 05:00"];
  assertEquals(await times(los), west, "also across a change of the clocks");
  assertEquals((await times(`${los}; runledger-time=utc`))[0], "today 12:00");
  const { text } = await seen(h, reader, "/dashboard/runs", los);
  const exact =
    'datetime="2026-11-21T12:00:00.000Z" title="2026-11-21 04:00:00 America/Los_Angeles"';
  assertStringIncludes(text, exact);
});

Harness.test("the form of the top bar stores the preferences and returns to its page", async (h) => {
  const { cookie: Cookie } = await signedIn(h);
  const send = (fields: Record<string, string>, Referer: string) =>
    submit(h, "/dashboard/view", fields, { Cookie, Referer });
  const page = `${h.url}/dashboard/runs?status=failed`;
  const dark = await send({ theme: "dark" }, page);
  const to = "/dashboard/runs?status=failed";
  assertEquals([dark.status, dark.headers.get("location")], [303, to]);
  const stored = dark.headers.get("set-cookie") ?? "";
  assertMatch(stored, /^runledger-theme=dark; Max-Age=\d+; Path=\/; SameSite=Lax$/);
  const system = (await send({ theme: "system" }, page)).headers.get("set-cookie") ?? "";
  assertMatch(
    system,
    /^runledger-theme=\w*; Max-Age=0; Path=\//,
    "the system's theme has no cookie",
  );
  const hostile = await send({ time: "a;b\r\nc", theme: "" }, "https://else.example/x");
  assertEquals([hostile.status, hostile.headers.get("set-cookie")], [303, null]);
  for (const referer of ["", "::", "https://else.example//evil.example", `${h.url}/metrics`]) {
    assertEquals((await send({ time: "utc" }, referer)).headers.get("location"), "/dashboard");
  }
});

/** Gives the first team the key that `deno task dev` creates. */
async function storeDevelopmentKey(h: Harness): Promise<void> {
  const digits = developmentKey("eu").slice("apk_eu_".length);
  const environment = {
    now: () => h.nowMs,
    random: (bytes: number) => Uint8Array.fromHex(digits).slice(0, bytes),
  };
  const secrets = { region: "eu", refusedSecret: null, operatorKey: null } as const;
  const credentials = createCredentialStore(h.store, environment, secrets);
  const spec = { name: "dev", grant: { kind: "api_key", scopes: ["ingest"] } } as const;
  const { secret } = await credentials.create(h.team, spec, "nobody");
  assertEquals(secret, developmentKey("eu"));
}

Deno.test("commands have the development key in dev, and no other secret anywhere", async () => {
  const shared = developmentKey("eu");
  const commands = async (h: Harness, reader: Reader) => {
    const paths = ["", "/runs", "/agents", "/spend"];
    const texts = await Promise.all(paths.map((path) => reader.get(`/dashboard${path}`)));
    return texts.map(({ text }) => {
      assert(!text.includes(h.key));
      return textOf(/<pre id="first[^"]*"[^>]*>(.*?)<\/pre>/s.exec(text)?.[1] ?? "");
    });
  };
  {
    await using h = await Harness.open({ dev: true });
    await storeDevelopmentKey(h);
    const [ping = ""] = await commands(h, await signedIn(h));
    assertEquals(ping, `curl -u ${shared}: "${h.url}/v1/ping?agent=hello"`);
    for (const line of await commands(h, await signedIn(h))) {
      assertStringIncludes(line, `-u ${shared}: "${h.url}/v1/`);
    }
    const { key } = await h.addTeam("business");
    for (const line of await commands(h, await signedIn(h, key))) {
      assertStringIncludes(line, '-u "$RUNLEDGER_KEY:"');
    }
  }
  for (const dev of [true, false]) {
    await using h = await Harness.open({ dev });
    for (const line of await commands(h, await signedIn(h))) {
      assertStringIncludes(line, '-u "$RUNLEDGER_KEY:"');
    }
  }
});

Deno.test("deno task dev offers sample runs, to an admin of its own team while that is empty", async () => {
  let loads = 0;
  const loadSamples = () => Promise.resolve(void loads++);
  const path = "/dashboard/samples";
  await using h = await Harness.open({ dev: true, deps: { loadSamples } });
  await storeDevelopmentKey(h);
  const offers = async (reader: Reader) => {
    const texts = await Promise.all(["", "/runs"].map((path) => reader.get(`/dashboard${path}`)));
    return texts.map(({ text }) => text.includes("Load sample runs"));
  };
  const admin = await signedIn(h);
  assertEquals(await offers(admin), [true, true]);
  const done = await admin.send(path);
  assertEquals([done.status, done.headers.get("location"), loads], [303, "/dashboard", 1]);
  const scripted = await submit(h, path, {}, { Cookie: admin.cookie, "HX-Request": "true" });
  assertEquals([scripted.status, scripted.headers.get("hx-refresh"), loads], [204, "true", 2]);

  const user = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  assertEquals([await offers(user), (await user.send(path)).status], [[false, false], 403]);
  const other = await signedIn(h, (await h.addTeam("business")).key);
  assertEquals([await offers(other), (await other.send(path)).status], [[false, false], 404]);
  assertEquals(loads, 2);
  await h.post("/v1/heartbeats", { agent: "research" });
  await h.worker.idle();
  assertEquals(await offers(admin), [false, false]);
});

session.test("elsewhere there are no sample runs", async ({ reader: admin }) => {
  assert(!(await admin.get("/dashboard")).text.includes("Load sample runs"));
  assertEquals((await admin.send("/dashboard/samples")).status, 404);
});
