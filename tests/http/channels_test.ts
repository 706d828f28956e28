/** Channels: set, read, list, rotate, delete; their secrets stay sealed. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { at } from "../support/builders/requests.ts";
import { type Answer, Harness, oneFile } from "../support/harness/harness.ts";

const HOOK = {
  type: "webhook",
  url: "https://hooks.example.org/in?token=url-4a7c91",
  events: ["incident.opened", "incident.resolved"],
  headers: { "X-Source": "runledger" },
  default: true,
};
const OWN_SECRET = `whsec_${new Uint8Array(24).fill(7).toBase64()}`;

function put(h: Harness, slug: string, body: unknown): Promise<Answer> {
  return h.request("PUT", `/v1/channels/${slug}`, { body });
}

Harness.test("channels: a webhook's secret is generated and shown once, and stays until it is rotated", async (h) => {
  const first = await put(h, "ops", HOOK);
  assertEquals([first.status, first.headers.get("cache-control")], [202, "no-store"]);
  const { secret, id, updated_by, ...rest } = first.json;
  assertMatch(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assertMatch(id, /^chn_eu_[0-9a-f]{32}$/);
  assertEquals(rest, {
    slug: "ops",
    version: 1,
    type: "webhook",
    hint: { url: "7c91", secret: secret.slice(-4) },
    host: "hooks.example.org",
    events: HOOK.events,
    headers: HOOK.headers,
    default: true,
    include_error: true,
    enabled: true,
    state: "ok",
    last_ok_at: null,
    failing_since: null,
    last_error: null,
    created_at: at(),
    updated_at: at(),
  });
  const read = (await h.get("/v1/channels/ops")).json;
  assertEquals(read, { ...rest, id, updated_by }, "a read has no secret");
  const { url: _, ...withoutUrl } = HOOK;
  for (const body of [HOOK, withoutUrl, { ...withoutUrl, secret, version: 1 }]) {
    const again = await put(h, "ops", body);
    assertEquals([again.status, again.json], [200, read], "nothing differs");
  }
  const rotated = await h.post("/v1/channels/ops/rotate", { overlap_hours: 1 });
  assertEquals([rotated.status, rotated.headers.get("cache-control")], [200, "no-store"]);
  assertEquals([rotated.json.version, rotated.json.previous_until], [2, at(3_600_000)]);
  assert(rotated.json.secret !== secret);
  const after = (await h.get("/v1/channels/ops")).json;
  assertEquals([after.secret, after.hint.secret], [undefined, rotated.json.secret.slice(-4)]);
  const next = await put(h, "ops", { ...withoutUrl, enabled: false });
  assertEquals([next.status, next.json.previous_until], [202, at(3_600_000)], "it still overlaps");
  const own = await put(h, "ops", { ...withoutUrl, secret: OWN_SECRET });
  assertEquals([own.json.hint.secret, own.json.secret, own.json.previous_until], [
    OWN_SECRET.slice(-4),
    undefined,
    undefined,
  ]);
  assertEquals((await h.request("POST", "/v1/channels/ops/rotate")).status, 200, "without a body");
  await h.request("DELETE", "/v1/channels/ops");
  assertEquals((await h.request("POST", "/v1/channels/ops/rotate")).status, 404);
});

Harness.test("channels: each type has its fields, and settings that are sent again change nothing", async (h) => {
  const sent = [
    { type: "email", to: ["ops@example.org", "chef@example.org"], include_error: false },
    { type: "slack", url: "https://hooks.example.org/T0/B0/xyz1" },
    { type: "mattermost", url: "https://chat.example.org:8443/hooks/xyz2", enabled: false },
    { type: "pagerduty", routing_key: "Kq".repeat(16), region: "eu", default: true },
    { type: "webhook", url: "https://hooks.example.org/", secret: OWN_SECRET },
  ];
  for (const body of sent) {
    const first = await put(h, body.type, body);
    assertEquals(first.status, 202, first.text);
    const again = await put(h, body.type, body);
    assertEquals([again.status, again.text], [200, first.text]);
    // All settings that a read shows, without the secrets, which it does not show.
    const shown = Object.fromEntries(
      ["type", "events", "headers", "to", "region", "default", "include_error", "enabled"]
        .flatMap((name) => name in first.json ? [[name, first.json[name]]] : []),
    );
    assertEquals((await put(h, body.type, shown)).text, first.text);
  }
  const { channels } = (await h.get("/v1/channels")).json;
  const types = ["email", "mattermost", "pagerduty", "slack", "webhook"];
  assertEquals(channels.map(({ slug }: { slug: string }) => slug), types);
  assertEquals(channels[2].hint, { routing_key: "KqKq" });
  const moved = await put(h, "slack", { type: "mattermost" });
  assertEquals([moved.status, moved.json.field], [400, "url"], "another type has other secrets");
  assertEquals((await h.post("/v1/channels/slack/rotate", {})).status, 404);
  const { key } = await h.addTeam("business");
  assertEquals((await h.post("/v1/channels/webhook/rotate", {}, { key })).status, 404);
});

oneFile.test("channels: no secret is in the ledger's file, an answer, the log or the audit log", async (h) => {
  const secrets = ["url-4a7c91", "slack-5bd2e0", OWN_SECRET.slice(6), "Key5f1c0dKey5f1c0d"];
  await put(h, "hook", { ...HOOK, secret: OWN_SECRET });
  await put(h, "slack", { type: "slack", url: "https://hooks.example.org/slack-5bd2e0" });
  await put(h, "duty", { type: "pagerduty", routing_key: "Key5f1c0dKey5f1c0d" });
  const rotated = (await h.post("/v1/channels/hook/rotate", {})).json.secret;
  await put(h, "hook", { ...HOOK, url: "https://hooks.example.org/other" });
  const texts = [
    (await h.get("/v1/channels")).text,
    (await h.get("/v1/audit")).text,
    (await h.request("DELETE", "/v1/channels/hook")).text,
    h.log.join("\n"),
    (await h.dump()).join("\n"),
  ];
  for await (const { name } of Deno.readDir(h.path.slice(0, h.path.lastIndexOf("/")))) {
    if (name.endsWith(".seal")) continue;
    const bytes = await Deno.readFile(`${h.path.slice(0, h.path.lastIndexOf("/"))}/${name}`);
    texts.push(new TextDecoder("latin1").decode(bytes));
  }
  assert(texts.some((text) => text.includes("hooks.example.org")), "the file is searched");
  for (const secret of [...secrets, rotated.slice(6)]) {
    assert(texts.every((text) => !text.includes(secret)), secret);
  }
  const { mode } = await Deno.stat(`${h.path}.seal`);
  assertEquals((mode ?? 0) & 0o777, 0o600);
});

oneFile.test("channels: with another key a channel needs its secret, and everything else works", async (h) => {
  await put(h, "hook", HOOK);
  await put(h, "mail", { type: "email", to: ["a@example.org"] });
  const states = async () =>
    (await h.get("/v1/channels")).json.channels.map(({ state }: { state: string }) => state);
  assertEquals(await states(), ["ok", "ok"]);
  await Deno.writeTextFile(`${h.path}.seal`, new Uint8Array(32).toBase64());
  assertEquals(await states(), ["needs_secret", "ok"]);
  await Deno.writeTextFile(`${h.path}.seal`, "not a key");
  assertEquals(await states(), ["needs_secret", "ok"]);
  const refused = await put(h, "chat", { type: "slack", url: "https://hooks.example.org/" });
  assertEquals([refused.status, refused.json.field], [400, "url"]);
  assertEquals(await Deno.readTextFile(`${h.path}.seal`), "not a key", "it is never replaced");
  await Deno.remove(`${h.path}.seal`);
  assertEquals(await states(), ["needs_secret", "ok"]);
  await put(h, "hook", HOOK);
  assertEquals(await states(), ["needs_secret", "ok"], "its signature's secret is still sealed");
  assertEquals((await h.post("/v1/channels/hook/rotate", {})).json.previous_until, undefined);
  assertEquals(await states(), ["ok", "ok"]);
});
