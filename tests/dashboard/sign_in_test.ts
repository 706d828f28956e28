/** Sign-in to the dashboard, its sessions, and refused access. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { SESSION, SESSIONS_PER_KEY_MAX } from "../../domain/core/limits.ts";
import { createRequestLimits } from "../../runtime/rate_limit.ts";
import { keys } from "../../kv/base/keys.ts";
import { hashOf } from "../../kv/teams/credential_rows.ts";
import { createSessionStore } from "../../kv/teams/sessions.ts";
import { session, signedIn, submit, textOf } from "../support/harness/dashboard.ts";
import { Harness, KEY } from "../support/harness/harness.ts";
import { ReadsOf } from "../support/oracles/reads.ts";
import { ofFile, ofInstance } from "../support/harness/test_kv.ts";
import { setTeamRate } from "../support/builders/teams.ts";

const SIGN_IN = "/dashboard/sign-in";

Harness.test("a page without a session redirects to the form, and the form back to the page", async (h) => {
  const redirect = await h.get("/dashboard?agent=a", { key: null, redirect: "manual" });
  assertEquals(redirect.status, 303);
  const next = new URLSearchParams({ next: "/dashboard?agent=a" });
  assertEquals(redirect.headers.get("location"), `${SIGN_IN}?${next}`);
  const form = await h.get(`${SIGN_IN}?${next}`, { key: null });
  assertMatch(form.text, /name="next" value="\/dashboard\?agent=a"/);
  const submitted = await submit(h, SIGN_IN, { key: KEY, next: "/dashboard?agent=a" });
  assertEquals(submitted.headers.get("location"), `${SIGN_IN}?kept=&${next}`);
  const cookie = submitted.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  const check = await h.get(`${SIGN_IN}?kept=&${next}`, {
    key: null,
    headers: { Cookie: cookie },
    redirect: "manual",
  });
  assertEquals(check.headers.get("location"), "/dashboard?agent=a");
});

Harness.test("the session cookie is bound to this host, hidden from scripts and not sent by other sites", async (h) => {
  const { headers } = await submit(h, SIGN_IN, { key: KEY });
  const [pair = "", ...attributes] = (headers.get("set-cookie") ?? "").split("; ");
  assertMatch(pair, /^__Host-runledger=[0-9a-f]{64}$/);
  assertEquals(attributes.toSorted(), [
    "HttpOnly",
    `Max-Age=${SESSION.maxMs / 1_000}`,
    "Path=/",
    "SameSite=Lax",
    "Secure",
  ]);
});

Harness.test("a browser that keeps no cookie gets a message instead of the same form", async (h) => {
  const { text } = await h.get(`${SIGN_IN}?kept=`, { key: null });
  assertMatch(textOf(text), /The browser kept no cookie/);
});

Harness.test("the sign-in form only redirects to pages of the dashboard", async (h) => {
  const elsewhere = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/dashboard\\..\\..",
    "/dashboardx",
    "javascript:alert(1)",
    "/v1/runs",
  ];
  for (const next of elsewhere) {
    const { headers } = await submit(h, SIGN_IN, { key: KEY, next });
    assertEquals(headers.get("location"), `${SIGN_IN}?kept=&next=%2Fdashboard`, next);
  }
});

Harness.test("the store contains neither the session's token nor its key, and a session is one row", async (h) => {
  const { cookie } = await signedIn(h);
  const token = cookie.split("=")[1] ?? "";
  const dump = await h.dump();
  assertEquals(dump.filter((line) => line.includes('"session"')).length, 1);
  assert(!dump.some((line) => line.includes(token) || line.includes(KEY)));
});

Harness.test("a session expires when idle, each use extends it, and it has a maximum age", async (h) => {
  const reader = await signedIn(h);
  const isIn = async () => (await reader.get("/dashboard")).status === 200;
  const end = h.nowMs + SESSION.maxMs;
  while (h.nowMs + SESSION.idleMs - 1 < end) {
    h.nowMs += SESSION.idleMs - 1;
    assert(await isIn());
  }
  h.nowMs = end - 1;
  assert(await isIn());
  h.nowMs = end;
  assert(!await isIn());
  const other = await signedIn(h);
  h.nowMs += SESSION.idleMs;
  assertEquals((await other.get("/dashboard")).status, 303);
});

Harness.test("signing out ends the session, also for its old cookie", async (h) => {
  const [one, other] = [await signedIn(h), await signedIn(h)];
  const out = await one.send("/dashboard/sign-out");
  assertEquals([out.status, out.headers.get("location")], [303, SIGN_IN]);
  assertMatch(out.headers.get("set-cookie") ?? "", /^__Host-runledger=; Max-Age=0;/);
  assertEquals((await one.get("/dashboard")).status, 303);
  assertEquals((await other.get("/dashboard")).status, 200);
});

Harness.test("ingest-only keys, ping tokens and unknown keys cannot sign in, and get a reason", async (h) => {
  const ingest = await h.addKey({ kind: "api_key", scopes: ["ingest"] });
  const token = await h.addKey({ kind: "ping_token", agent: "a" });
  const cases = [
    [ingest, 403, /lacks the scope "read"/],
    [token, 401, /ping token/],
    [KEY.replace(/a$/, "b"), 401, /unknown or revoked/],
    ["what?", 401, /not a Runledger key/],
    ["", 401, /not a Runledger key/],
    [KEY.replace("_eu_", "_us_"), 401, /region "us"/],
  ] as const;
  for (const [key, status, message] of cases) {
    const answer = await submit(h, SIGN_IN, { key });
    assertEquals(answer.status, status, key);
    assertMatch(textOf(answer.text), message);
    assertEquals(answer.headers.get("set-cookie"), null);
    assert(key.length < 5 || !answer.text.includes(key));
  }
  assert(!(await h.dump()).some((line) => line.includes('"session"')));
});

Harness.test("forms of other sites change nothing, whatever origin they claim", async (h) => {
  const { cookie } = await signedIn(h);
  const from: Record<string, string>[] = [
    { "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site" },
    { "Origin": new URL(h.url).origin, "Sec-Fetch-Site": "same-site" },
    { "Origin": new URL(h.url).origin, "Sec-Fetch-Site": "none" },
    // As sent by browsers without Fetch Metadata; the test client adds no headers.
    { "Origin": "https://evil.example", "Sec-Fetch-Site": "" },
    { "Origin": "null", "Sec-Fetch-Site": "" },
  ];
  for (const headers of from) {
    for (const path of ["/dashboard/sign-out", SIGN_IN]) {
      const answer = await submit(h, path, { key: KEY }, { Cookie: cookie, ...headers });
      assertEquals(answer.status, 403, JSON.stringify(headers));
      assertEquals(answer.headers.get("set-cookie"), null);
    }
  }
  const bare = await h.request("POST", "/dashboard/sign-out", {
    key: null,
    headers: { Cookie: cookie },
    body: "",
  });
  assertEquals(bare.status, 403);
  const old = { Cookie: cookie, "Sec-Fetch-Site": "" };
  assertEquals((await submit(h, SIGN_IN, { key: KEY }, old)).status, 303);
  const still = await h.get("/dashboard", { key: null, headers: { Cookie: cookie } });
  assertEquals(still.status, 200);
});

Deno.test("R15: failed guesses of keys are refused without Retry-After, and a valid key still signs in", async () => {
  await using h = await Harness.open({ deps: { limits: createRequestLimits(() => 0) } });
  for (let tries = 0; tries < 40; tries++) {
    const key = tries % 2 === 0 ? "apk_eu_no" : KEY.replace(/a$/, "b");
    const { status, headers } = await submit(h, SIGN_IN, { key });
    assertEquals([status, headers.get("retry-after")], [401, null]);
  }
  assertEquals((await submit(h, SIGN_IN, { key: KEY })).status, 303);
});

Deno.test("sign-in counts as a request of its team; beyond the rate the page says when to retry", async () => {
  const clock = { ms: 0 };
  const limits = createRequestLimits(() => clock.ms);
  await using h = await Harness.open({ deps: { limits } });
  await setTeamRate(h.store, h.team.id, { sustained: 1, burst: 4 });
  const { key: other } = await h.addTeam("free");
  const signIn = (key: string) => submit(h, SIGN_IN, { key, next: "/dashboard/runs" });
  // 8 for the team, and one from the reserve of pages.
  for (let n = 0; n < 9; n++) assertEquals((await signIn(KEY)).status, 303);
  const rows = (await h.dump()).length;
  const refused = await signIn(KEY);
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, "1"]);
  assertMatch(
    textOf(refused.text),
    /bursts of 8(, and it is constantly exceeded: slow down, then|:) retry after 1 s/,
  );
  assertMatch(refused.text, /name="next" value="\/dashboard\/runs"/);
  assertEquals(refused.headers.get("set-cookie"), null);
  assertEquals((await h.dump()).length, rows);
  assertEquals((await signIn(other)).status, 303);
  clock.ms += 1_000;
  assertEquals((await signIn(KEY)).status, 303);
});

Harness.test("a key has at most 100 sessions: a new one ends the oldest, also under concurrent sign-ins", async (h) => {
  const environment = {
    now: () => h.nowMs,
    random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const sessions = createSessionStore(h.store, environment, null);
  const { team, key: other } = await h.addTeam("free");
  const theirs = await sessions.start(other, team.id);
  const tokens: string[] = [];
  for (let n = 0; n < SESSIONS_PER_KEY_MAX; n++) {
    h.nowMs++;
    tokens.push(await sessions.start(KEY, h.team.id));
  }
  const isIn = async (token = "") => await sessions.find(token) !== null;
  assert(await isIn(tokens[0]));
  h.nowMs++;
  tokens.push(
    ...await Promise.all(Array.from({ length: 20 }, () => sessions.start(KEY, h.team.id))),
  );
  const live = await Promise.all(tokens.map(isIn));
  assertEquals(live, tokens.map((_, n) => n >= 20));
  assert(await isIn(theirs), "a session of another key has ended");
  const rows = await h.dump();
  for (const family of ['"session"', '"session_by"']) {
    const count = rows.filter((row) => row.includes(family)).length;
    assertEquals(count, SESSIONS_PER_KEY_MAX + 1, family);
  }
});

ofInstance("a made-up session is looked up at most once, and writes nothing", async () => {
  await using h = await Harness.open();
  const cookie = (token: string) => ({ Cookie: `__Host-runledger=${token}` });
  const ask = async (token: string) =>
    (await h.get("/dashboard", { key: null, headers: cookie(token), redirect: "manual" })).status;
  using reads = new ReadsOf(h.store, "session");
  for (let n = 0; n < 20; n++) assertEquals(await ask("c0".repeat(32)), 303);
  assertEquals(reads.count, 1);
  for (const token of ["x", "", "C0".repeat(32), "c0".repeat(33)]) {
    assertEquals(await ask(token), 303);
  }
  assertEquals(reads.count, 1);
  // The clock's first turn has one.
  await h.work.idle();
  const commits = h.store.writer.metrics.commits.stored;
  const out = await submit(h, "/dashboard/sign-out", {}, cookie("c1".repeat(32)));
  assertEquals(out.status, 303);
  assertEquals(h.store.writer.metrics.commits.stored, commits);
});

ofFile("the store expires no session", async () => {
  await using h = await Harness.open();
  const session = await signedIn(h);
  h.nowMs += SESSION.idleMs / 2;
  assertEquals((await session.get("/dashboard")).status, 200);
  using database = new DatabaseSync(h.path, { readOnly: true });
  const expiring = database.prepare("SELECT count(*) AS rows FROM kv WHERE expiration_ms >= 0");
  assertEquals(expiring.get()?.rows, 0);
});

Harness.test("the sweep removes ended sessions and keeps live ones", async (h) => {
  const old = await signedIn(h);
  h.nowMs += SESSION.idleMs / 2;
  assertEquals((await old.get("/dashboard")).status, 200);
  const sessionRows = async () =>
    (await h.dump()).filter((row) => /^\[\s+"session(_by)?",/.test(row)).length;
  for (let n = 0; n < 250; n++) {
    // Sessions of many keys: more rows than one sweep step takes.
    await h.store.writer.commit({
      sets: [
        { key: keys.session(hashOf(`t${n}`)), value: true },
        { key: keys.sessionOf(hashOf(`k${n}`), h.nowMs, hashOf(`t${n}`)), value: true },
      ],
    });
  }
  h.nowMs += SESSION.maxMs - SESSION.idleMs / 2 - 1;
  const young = await signedIn(h);
  await h.sweep.sweepNow();
  assertEquals(await sessionRows(), 504);
  h.nowMs += 1;
  await h.sweep.sweepNow();
  assertEquals(await sessionRows(), 502);
  h.nowMs += SESSION.idleMs / 2;
  await h.sweep.sweepNow();
  assertEquals(await sessionRows(), 2);
  assertEquals((await young.get("/dashboard")).status, 200);
});

Harness.test("a sign-in link with any target redirects to a page or the form, and never fails", async (h) => {
  const { cookie } = await signedIn(h);
  const headers = { Cookie: cookie };
  const chars = [
    ...Array.from({ length: 0x180 }, (_, code) => encodeURIComponent(String.fromCharCode(code))),
    ..."\u20ac\u2028\ufeff\ufffd".split("").map(encodeURIComponent),
    "%F0%9F%98%80",
    // Bytes that are not valid UTF-8.
    "%FF",
    "%ED%A0%80",
    "%",
    "%0D%0ASet-Cookie:%20a=b",
    "a".repeat(4_000),
  ];
  for (const [n, char] of chars.entries()) {
    const next = `%2Fdashboard${n % 2 === 0 ? "%3F" : "%2F"}${char}a`;
    const answer = await h.get(`${SIGN_IN}?kept=&next=${next}`, {
      key: null,
      headers,
      redirect: "manual",
    });
    assertEquals(answer.status, 303, char);
    assertMatch(answer.headers.get("location") ?? "", /^\/dashboard([?\/][\x21-\x7e]*)?$/);
    assertEquals(answer.headers.get("set-cookie"), null);
  }
  // All other redirects that contain a part of the request.
  for (const [n, char] of chars.entries()) {
    if (char.length > 1_000 || n % 5 > 0 && n > 40) continue;
    for (const path of [`/dashboard/keys/${char}/rotate`, `/dashboard/teams/${char}/keys`]) {
      const options = { key: null, headers, redirect: "manual" } as const;
      const { status } = await h.get(path, options);
      assert(status < 500, `${path}: ${status}`);
      const bare = await h.get(`${path}?${char}`, { key: null, redirect: "manual" });
      assert(bare.status < 500, `${path} without a session: ${bare.status}`);
    }
    const form = await submit(h, SIGN_IN, { key: KEY, next: `/dashboard/${decoded(char)}` });
    assertEquals(form.status, 303, char);
  }
});

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

session.test("pages forbid browsers to load foreign content and to cache pages", async ({ h, reader }) => {
  for (const path of ["/dashboard", SIGN_IN, "/dashboard/nothing-here"]) {
    const { headers, text } = await reader.get(path);
    const policy = headers.get("content-security-policy") ?? "";
    assertMatch(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /);
    assert(!/unsafe|\*/.test(policy));
    assertEquals(headers.get("cache-control"), "no-store");
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    assert(!/https?:\/\//.test(text.replaceAll(h.url, "")), path);
    assert(!/<script(?![^>]*\bsrc="\/dashboard\/)|\sstyle=|\son[a-z]+=/.test(text), path);
  }
});

Harness.test("assets are immutable, under names with a hash of their content", async (h) => {
  const { text } = await h.get(SIGN_IN, { key: null });
  const files = [...text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)];
  assertEquals(files.length, 4);
  for (const [, path = ""] of files) {
    const { status, headers } = await h.get(path, { key: null });
    assertEquals(status, 200);
    assertMatch(headers.get("cache-control") ?? "", /immutable/);
    const zipped = await h.get(path, { key: null, headers: { "Accept-Encoding": "gzip" } });
    assertEquals(zipped.text, (await h.get(path, { key: null })).text);
  }
  const unknown = await h.get("/dashboard/assets/0123-dashboard.css", { key: null });
  assertEquals(unknown.status, 404);
});

Deno.test("the startup link signs in from this machine, and an older link does not", async () => {
  const signInLink = { code: "abc", secret: KEY };
  await using h = await Harness.open({ deps: { signInLink } });
  const ask = (code: string) => h.get(`${SIGN_IN}?code=${code}`, { key: null, redirect: "manual" });
  const right = await ask("abc");
  assertEquals(right.status, 303);
  assertMatch(right.headers.get("set-cookie") ?? "", /^__Host-runledger=/);
  const wrong = await ask("abd");
  assertEquals([wrong.status, wrong.headers.get("set-cookie")], [401, null]);
  assertMatch(textOf(wrong.text), /earlier start/);
});
