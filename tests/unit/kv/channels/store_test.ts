/** Channels in the store: what follows from a change, and secrets that cannot be sealed or opened. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { OpenedChannelSettings } from "../../../../domain/channels/channel.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { createSealer, givenKey, opening } from "../../../../kv/channels/seal.ts";
import { createChannelStore } from "../../../../kv/channels/store.ts";
import { TeamCommit } from "../../../../kv/summaries/team_commit.ts";
import { TEAM } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";
import { problemOfAsync } from "../../../support/oracles/problems.ts";

const KEY = new Uint8Array(32).fill(1);
const HOOK: OpenedChannelSettings = {
  type: "webhook",
  url: "https://hooks.example.org/",
  host: "hooks.example.org",
  secret: "",
  previous: null,
  events: ["incident.*"],
  headers: {},
  isDefault: true,
  includeError: true,
  enabled: true,
};

function channelsOf(
  temp: TempStore,
  key: Uint8Array<ArrayBuffer> | null,
  hasMailServer = true,
) {
  const environment = { random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)) };
  const sealer = createSealer(givenKey(key), environment);
  const channels = createChannelStore({
    store: temp.store,
    changes: new TeamCommit(temp.store, null),
    region: "eu",
    environment,
    sealer,
    egress: { refusal: () => null },
    hasMailServer,
  });
  return { ...channels, open: opening(sealer) };
}

TempStore.test("channels: each change wakes the channel, so that waiting deliveries see it", async (temp) => {
  const channels = channelsOf(temp, KEY);
  const made = (minutes: number) => ({ by: "key_1", at: NOON + minutes * 60_000 });
  const woken = async () => (await temp.keysBelow(keys.work("send"))).length;
  await channels.put(TEAM, "ops", HOOK, null, made(1));
  assertEquals(await woken(), 1);
  await channels.put(TEAM, "ops", HOOK, null, made(2));
  assertEquals(await woken(), 1, "nothing differs");
  assert(await channels.rotate(TEAM, "ops", 1, made(3)) !== null);
  assertEquals(await woken(), 2);
  assert(await channels.remove(TEAM, "ops", made(4)) !== null);
  assertEquals(await woken(), 3);
});

TempStore.test("channels: opened settings have both secrets of a rotation", async (temp) => {
  const channels = channelsOf(temp, KEY);
  const made = { by: "key_1", at: NOON };
  const put = await channels.put(TEAM, "ops", HOOK, null, made);
  assert(put.secret !== undefined);
  const rotated = await channels.rotate(TEAM, "ops", 2, made);
  assert(rotated !== null);
  const { channel, secret } = rotated;
  assertEquals(await channels.open(TEAM, channel), {
    ...HOOK,
    secret,
    previous: { secret: put.secret, untilMs: NOON + 7_200_000 },
  });
  const at0 = await channels.rotate(TEAM, "ops", 0, made);
  const opened = at0 && await channels.open(TEAM, at0.channel);
  assertEquals(opened?.type === "webhook" && opened.previous, null);
});

TempStore.test("channels: without a key secrets are refused by the setting's name, and e-mail works", async (temp) => {
  const made = { by: "key_1", at: NOON };
  const withKey = channelsOf(temp, KEY);
  await withKey.put(TEAM, "ops", HOOK, null, made);
  const without = channelsOf(temp, null);
  for (
    const change of [
      without.put(TEAM, "new", HOOK, null, made),
      without.rotate(TEAM, "ops", 1, made),
    ]
  ) {
    assertStringIncludes((await problemOfAsync(change))?.message ?? "", "RUNLEDGER_SEAL_KEY");
  }
  const { isDefault, includeError, enabled } = HOOK;
  const email = { type: "email", to: ["a@example.org"], isDefault, includeError, enabled } as const;
  await without.put(TEAM, "mail", email, null, made);
  const health = await without.health(TEAM, ["ops", "mail"]);
  assertEquals([health.get("ops")?.state, health.get("mail")?.state], ["needs_secret", "ok"]);
  const channel = await without.read(TEAM, "ops");
  assert(channel !== null && await without.open(TEAM, channel) === null);
});

TempStore.test("R28: a mail channel without a mail server is refused, and an existing one shows it", async (temp) => {
  const made = { by: "key_1", at: NOON };
  const { isDefault, includeError, enabled } = HOOK;
  const email = { type: "email", to: ["a@example.org"], isDefault, includeError, enabled } as const;
  await channelsOf(temp, KEY).put(TEAM, "mail", email, null, made);
  const without = channelsOf(temp, KEY, false);
  for (const slug of ["mail", "new"]) {
    const put = without.put(TEAM, slug, { ...email, to: ["b@example.org"] }, null, made);
    const problem = await problemOfAsync(put);
    assertEquals([problem?.code, problem?.field], ["invalid_field", "type"]);
    assertStringIncludes(problem?.message ?? "", "RUNLEDGER_SMTP_URL");
  }
  const health = (await without.health(TEAM, ["mail"])).get("mail");
  assertEquals(health?.state, "failing");
  assertStringIncludes(health?.lastError ?? "", "RUNLEDGER_SMTP_URL");
});
