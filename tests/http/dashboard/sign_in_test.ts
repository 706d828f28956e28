/** Signing in to the dashboard, its sessions, and who is kept out. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FAILED_TRIES, SESSION } from "../../../domain/limits.ts";
import { createRequestLimits } from "../../../domain/plan/rate_limit.ts";
import { Harness, KEY } from "../../support/harness.ts";
import { signedIn, submit, textOf } from "../../support/dashboard.ts";

const SIGN_IN = "/dashboard/sign-in";

Deno.test("a page without a session leads to the form, and the form back to the page", async () => {
  await using h = await Harness.open();
  const asked = await h.get("/dashboard?agent=a", { key: null, redirect: "manual" });
  assertEquals(asked.status, 303);
  const next = new URLSearchParams({ next: "/dashboard?agent=a" });
  assertEquals(asked.headers.get("location"), `${SIGN_IN}?${next}`);
  const form = await h.get(`${SIGN_IN}?${next}`, { key: null });
  assertMatch(form.text, /name="next" value="\/dashboard\?agent=a"/);
  const sent = await submit(h, SIGN_IN, { key: KEY, next: "/dashboard?agent=a" });
  assertEquals(sent.headers.get("location"), `${SIGN_IN}?kept=&${next}`);
  const cookie = sent.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  const kept = await h.get(`${SIGN_IN}?kept=&${next}`, {
    key: null,
    headers: { Cookie: cookie },
    redirect: "manual",
  });
  assertEquals(kept.headers.get("location"), "/dashboard?agent=a");
});

Deno.test("the session is a cookie of this host alone, which no script reads and no other site sends along", async () => {
  await using h = await Harness.open();
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

Deno.test("a browser that keeps no cookie is told so in place of the form again and again", async () => {
  await using h = await Harness.open();
  const { text } = await h.get(`${SIGN_IN}?kept=`, { key: null });
  assertMatch(textOf(text), /The browser kept no cookie/);
});

Deno.test("a form only leads to a page of the dashboard", async () => {
  await using h = await Harness.open();
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

Deno.test("the store holds neither the session's token nor its key, and a session is one row", async () => {
  await using h = await Harness.open();
  const { cookie } = await signedIn(h);
  const token = cookie.split("=")[1] ?? "";
  const dump = await h.dump();
  assertEquals(dump.filter((line) => line.includes('"session"')).length, 1);
  assert(!dump.some((line) => line.includes(token) || line.includes(KEY)));
});

Deno.test("a session ends after so long without use, each use puts that off, and in the end it is over", async () => {
  await using h = await Harness.open();
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

Deno.test("who signs out is out, also with the cookie of before", async () => {
  await using h = await Harness.open();
  const [one, other] = [await signedIn(h), await signedIn(h)];
  const out = await one.send("/dashboard/sign-out");
  assertEquals([out.status, out.headers.get("location")], [303, SIGN_IN]);
  assertMatch(out.headers.get("set-cookie") ?? "", /^__Host-runledger=; Max-Age=0;/);
  assertEquals((await one.get("/dashboard")).status, 303);
  assertEquals((await other.get("/dashboard")).status, 200);
});

Deno.test("a session ends with its key", async () => {
  await using h = await Harness.open();
  const key = await h.addKey({ kind: "api_key", scopes: ["read"] });
  const reader = await signedIn(h, key);
  assertEquals((await reader.get("/dashboard")).status, 200);
  const { keys } = (await h.get("/v1/keys")).json;
  const { id } = keys.find(({ name }: { name: string }) => name === "test");
  await h.request("DELETE", `/v1/keys/${id}`);
  assertEquals((await reader.get("/dashboard")).status, 303);
});

Deno.test("keys that may not read, ping tokens and unknown keys sign nobody in, and are told why", async () => {
  await using h = await Harness.open();
  const ingest = await h.addKey({ kind: "api_key", scopes: ["ingest"] });
  const token = await h.addKey({ kind: "ping_token", agent: "a" });
  const cases = [
    [ingest, 403, /lacks the scope "read"/],
    [token, 401, /ping token/],
    [KEY.replace(/a$/, "b"), 401, /No such key works here/],
    ["what?", 401, /No such key works here/],
    ["", 401, /No such key works here/],
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

Deno.test("forms of other sites change nothing, whatever they say of where they come from", async () => {
  await using h = await Harness.open();
  const { cookie } = await signedIn(h);
  const from: Record<string, string>[] = [
    { "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site" },
    { "Origin": new URL(h.url).origin, "Sec-Fetch-Site": "same-site" },
    { "Origin": new URL(h.url).origin, "Sec-Fetch-Site": "none" },
    // Of before browsers said where forms come from; the test's own client adds nothing.
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

Deno.test("whoever guesses keys is told to wait", async () => {
  await using h = await Harness.open({ deps: { limits: createRequestLimits(() => 0) } });
  for (let tries = 0; tries < FAILED_TRIES.max; tries++) {
    assertEquals((await submit(h, SIGN_IN, { key: "apk_eu_no" })).status, 401);
  }
  const { status, headers, text } = await submit(h, SIGN_IN, { key: "apk_eu_no" });
  assertEquals([status, headers.get("retry-after")], [429, "60"]);
  assertMatch(textOf(text), /Too many credentials .* retry after 60 s/);
  assertEquals((await submit(h, SIGN_IN, { key: KEY })).status, 303);
});

Deno.test("pages tell browsers to load nothing from elsewhere, and to keep nothing", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
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

Deno.test("a file of the pages is kept for ever under a name that holds what is in it", async () => {
  await using h = await Harness.open();
  const { text } = await h.get(SIGN_IN, { key: null });
  const files = [...text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)];
  assertEquals(files.length, 5);
  for (const [, path = ""] of files) {
    const { status, headers } = await h.get(path, { key: null });
    assertEquals(status, 200);
    assertMatch(headers.get("cache-control") ?? "", /immutable/);
    const zipped = await h.get(path, { key: null, headers: { "Accept-Encoding": "gzip" } });
    assertEquals(zipped.text, (await h.get(path, { key: null })).text);
  }
  const gone = await h.get("/dashboard/assets/0123-pico.css", { key: null });
  assertEquals(gone.status, 404);
});

Deno.test("the link of the start signs in from this machine, and an older one does not", async () => {
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
