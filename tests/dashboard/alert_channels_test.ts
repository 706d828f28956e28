/** Channels and deliveries on pages: forms, tests with their result, secrets shown once, tries. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { CHANNEL_TYPES } from "../../domain/channels/channel.ts";
import { LOOPBACK, openIncident } from "../support/builders/alerts.ts";
import { answer, Receiver } from "../support/fakes/receiver.ts";
import {
  changed,
  fieldsOf,
  hrefsOf,
  session,
  signedIn,
  textOf,
} from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const CHANNELS = "/dashboard/alerts/channels";

const URL = "https://hooks.example.com/services/T0/secret-token";

/** Fields that a new channel of each type needs. */
const NEW: Readonly<Record<typeof CHANNEL_TYPES[number], Record<string, string>>> = {
  webhook: { url: URL, headers: "X-Team: billing\r\nX-Env: prod" },
  email: { to: "ops@example.com, oncall@example.com" },
  slack: { url: URL },
  mattermost: { url: URL },
  pagerduty: { routing_key: "a".repeat(28) + "wxyz", region: "eu" },
};

for (const type of CHANNEL_TYPES) {
  Deno.test(`channels: one of the type ${type} is created, and saved unchanged without its secrets`, async () => {
    await using h = await Harness.open();
    const reader = await signedIn(h);
    const path = `/dashboard/alerts/channels/new/channel?type=${type}`;
    const { text: kinds } = await reader.get("/dashboard/alerts/channels/new/channel");
    const [, link = ""] = kinds.split(`href="${path}"`);
    assertMatch(link, /^>[^<]+<\/a><small class="under">[^<]+<\/small>/);
    const { text: form } = await reader.get(path);
    const filled = changed(fieldsOf(form, CHANNELS), { slug: "ops", ...NEW[type] });
    const created = await reader.send(CHANNELS, filled);
    assertEquals(created.status, type === "webhook" ? 201 : 303, textOf(created.text));
    if (type === "webhook") assertMatch(created.text, /whsec_[A-Za-z0-9+/]{43}=/);
    const before = (await h.get("/v1/channels/ops")).json;
    assertEquals([before.type, before.default, before.version], [type, true, 1]);
    const { text: page } = await reader.get(`${CHANNELS}/ops`);
    assert(!/secret-token|whsec_|aaaa/.test(page));
    const saved = await reader.send(CHANNELS, fieldsOf(page, CHANNELS));
    assertEquals(saved.status, 303, textOf(saved.text));
    assertEquals((await h.get("/v1/channels/ops")).json, before);
  });
}

Deno.test("R28: without a mail server the form of a mail channel names the setting", async () => {
  await using h = await Harness.open({ mailer: null });
  const reader = await signedIn(h);
  const { text: form } = await reader.get("/dashboard/alerts/channels/new/channel?type=email");
  const filled = changed(fieldsOf(form, CHANNELS), { slug: "ops", ...NEW.email });
  const { status, text } = await reader.send(CHANNELS, filled);
  assertEquals(status, 400);
  assertMatch(textOf(text), /no mail server: the operator must set RUNLEDGER_SMTP_URL/);
  const body = { type: "email", to: ["ops@example.com"] };
  const { json } = await h.request("PUT", "/v1/channels/ops", { body });
  assertEquals([json.error, json.field], ["invalid_field", "type"]);
});

session.test("alerts: every page of the area has its tabs, also a form with a problem", async ({ h, reader }) => {
  await h.request("PUT", "/v1/channels/ops", { body: { type: "webhook", url: URL } });
  const texts = [
    ...await Promise.all(
      [
        ...["channels/new/channel", "channels/new/channel?type=slack", "channels", "channels/ops"],
        ...["rules/new/rule", "rules/new/rule?kind=spend", "rules", "rules/failures"],
        ...["silences/new/silence", "silences", "deliveries", "history"],
      ].map(async (path) => (await reader.get(`/dashboard/alerts/${path}`)).text),
    ),
    (await reader.send(CHANNELS, { type: "slack", version: "0", slug: "!" })).text,
    (await reader.send(`${CHANNELS}/ops/rotate`, { overlap_hours: "999" })).text,
    (await reader.send(`${CHANNELS}/ops/rotate`, { overlap_hours: "1" })).text,
    (await reader.send("/dashboard/alerts/rules", { kind: "spend", slug: "!" })).text,
    (await reader.send("/dashboard/alerts/silences", { slug: "!" })).text,
  ];
  for (const text of texts) {
    assertMatch(textOf(text), /Open History Rules 7 Channels 1 Deliveries Silences/);
  }
});

Deno.test("channels: a test shows its result, a rotation its secret once, and a deletion asks", async () => {
  await using receiver = new Receiver();
  await using h = await Harness.open({ egress: LOOPBACK });
  const reader = await signedIn(h);
  await h.request("PUT", "/v1/channels/ops", { body: { type: "webhook", url: receiver.url } });
  assertMatch(await reader.words(CHANNELS), /Not used yet/);
  receiver.behavior = answer(500, {}, "<b>sorry</b>");
  const first = await reader.send(`${CHANNELS}/ops/test`);
  for (const text of [first.text, (await reader.get(CHANNELS)).text]) {
    assertMatch(textOf(text), /Test failed Answered 500/);
    assert(!textOf(text).includes("Not used yet"));
  }
  receiver.behavior = answer(200);
  h.nowMs += 1_000;
  const good = await reader.send(`${CHANNELS}/ops/test`);
  assertMatch(textOf(good.text), /The test was delivered : delivered, 200/);
  receiver.behavior = answer(500, {}, "<b>sorry</b>");
  h.nowMs += 1_000;
  const bad = await reader.send(`${CHANNELS}/ops/test`);
  assertMatch(textOf(bad.text), /The test failed : Answered 500.*Webhook, test/);
  assertMatch(textOf(bad.text), /History Rules 7 Channels/, "the tabs stay");
  for (const path of [CHANNELS, `${CHANNELS}/ops`]) {
    assertMatch(await reader.words(path), /Test failed Answered 500/, path);
  }
  const asked = await reader.get(`${CHANNELS}/ops?confirm=rotate`);
  assertMatch(textOf(asked.text), /Rotate the signing secret\?/);
  const wrong = await reader.send(`${CHANNELS}/ops/rotate`, { overlap_hours: "999" });
  assertEquals(wrong.status, 400);
  assertMatch(wrong.text, /id="overlap_hours-problem"/);
  const rotated = await reader.send(`${CHANNELS}/ops/rotate`, { overlap_hours: "24" });
  assertEquals(rotated.status, 201);
  const [secret = ""] = /whsec_[A-Za-z0-9+/]{43}=/.exec(rotated.text) ?? [];
  assert(secret !== "");
  assertEquals((await reader.get(`${CHANNELS}/ops/rotate`)).status, 303);
  const { text: page } = await reader.get(`${CHANNELS}/ops`);
  assertMatch(textOf(page), /Old secret signs until/);
  assert(!page.includes(secret));
  assertMatch(await reader.words(`${CHANNELS}/ops?confirm=delete`), /Delete the channel “ops”/);
  assertEquals((await reader.send(`${CHANNELS}/ops/delete`)).status, 303);
  assertEquals((await h.get("/v1/channels/ops")).status, 404);
});

Deno.test("deliveries: an incident shows its messages with every try, and one is sent again", async () => {
  await using receiver = new Receiver(answer(410));
  await using h = await Harness.open({ egress: LOOPBACK });
  const reader = await signedIn(h);
  await h.request("PUT", "/v1/channels/ops", {
    body: { type: "webhook", url: receiver.url, default: true },
  });
  const id = await openIncident(h);
  await h.work.idle();
  const path = `/dashboard/alerts/incidents/${id}`;
  const { text } = await reader.get(path);
  assertMatch(textOf(text), /ops Webhook, opened Not delivered 1 try/);
  assertMatch(await reader.words("/dashboard"), /A channel sends nothing: ops/);
  const [, resend = ""] = /action="([^"]*\/resend)"/.exec(text) ?? [];
  receiver.behavior = answer(200);
  assertEquals((await reader.send(resend, fieldsOf(text, resend))).headers.get("location"), path);
  const { text: all } = await reader.get("/dashboard/alerts/deliveries?channel=ops");
  assertMatch(
    textOf(all),
    /billing failed 3 times in a row ops, Webhook, opened Waiting held until a test of the channel succeeds/,
  );
  const [row = ""] = /<tbody>([\s\S]*?)<\/tbody>/.exec(all) ?? [];
  assertEquals(hrefsOf(row), [path], "a row has one link");
  assertMatch(all, /<form class="filters"[^>]* data-filters/, "the script applies filters at once");
  await h.post("/v1/channels/ops/test", {});
  assert(!(await reader.words("/dashboard/alerts/deliveries?channel=ops")).includes("held until"));
  const { text: none } = await reader.get("/dashboard/alerts/deliveries?state=cancelled");
  assertMatch(textOf(none), /No deliveries/);
});

session.test("deliveries: what is no id of one is none that can be sent again", async ({ reader }) => {
  for (const id of ["x", "a".repeat(3_000), `whd_${"a".repeat(3_000)}`]) {
    const path = `/dashboard/alerts/deliveries/${id}/resend`;
    assertEquals((await reader.send(path, [["from", "//evil.example"]])).status, 404);
  }
});
