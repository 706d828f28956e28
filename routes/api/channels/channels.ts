/** Endpoints of channels, and their JSON. Secrets are never returned, except a new one. */
import { z } from "zod";
import {
  CHANNEL_TYPES,
  type ChannelHealth,
  type ChannelSettings,
  type ChannelType,
  type OpenedChannelSettings,
  PAGERDUTY_REGIONS,
} from "../../../domain/channels/channel.ts";
import {
  channelBody,
  OVERLAP_HOURS,
  parseChannel,
  parseChannelRotation,
  rotateBody,
} from "../../../domain/channels/channel_body.ts";
import { NEW_HEALTH } from "../../../domain/channels/health.ts";
import type { Channel, PutChannel } from "../../../domain/channels/store.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { teamKey } from "../../http/access.ts";
import { answer, fail } from "../../http/answer.ts";
import { type AppDeps, madeBy } from "../../http/context.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { configSlug, headFields, TAIL_FIELDS, textsValue } from "../config/fields.ts";
import { noSuch, objectEndpoints, slugInPath } from "../config/objects.ts";
import * as shape from "../../openapi/wire.ts";

/** A channel with what is shown of it in addition. */
interface ChannelRow extends Channel {
  readonly health: ChannelHealth;
  /** A secret that was just generated; null for none. */
  readonly newSecret: string | null;
}

type SettingsOf<Type extends ChannelType> = Extract<ChannelSettings, { readonly type: Type }>;

const hint = shape.objectValue<ChannelSettings>("ChannelHint", {
  url: shape.textValue.optional((settings) => "url" in settings ? settings.url.hint : undefined),
  secret: shape.textValue.optional((settings) =>
    ofType("webhook", settings, ({ secret }) => secret.hint)
  ),
  routing_key: shape.textValue.optional((settings) =>
    ofType("pagerduty", settings, ({ routingKey }) => routingKey.hint)
  ),
}, "The last 4 characters of each secret.");

const headers = shape.wire<Readonly<Record<string, string>>>(
  z.record(z.string(), z.string()).meta({ id: "ChannelHeaders" }),
  rawOf,
);

const state = shape.oneOfValue("ChannelState", ["ok", "failing", "broken", "needs_secret"]);

/** A channel. */
const channelValue = shape.objectValue<ChannelRow>("Channel", {
  ...headFields("chn"),
  type: shape.oneOfValue("ChannelType", CHANNEL_TYPES)(({ settings }) => settings.type),
  hint: hint("settings"),
  host: shape.textValue.optional(
    ({ settings }) => "host" in settings ? settings.host : undefined,
    "Of `webhook`, `slack` and `mattermost`: the host of the address.",
  ),
  secret: shape.textValue.optional(
    ({ newSecret }) => newSecret ?? undefined,
    "Of `webhook`: the secret, in the response to the call that generates it and in no other.",
  ),
  previous_until: shape.instantValue.optional(
    ({ settings }) => ofType("webhook", settings, ({ previous }) => previous?.untilMs),
    "Of `webhook`: until then the secret before the latest rotation signs too.",
  ),
  events: textsValue.optional(
    ({ settings }) => ofType("webhook", settings, ({ events }) => events),
    "Of `webhook`.",
  ),
  headers: headers.optional(
    ({ settings }) => ofType("webhook", settings, ({ headers }) => headers),
    "Of `webhook`.",
  ),
  to: textsValue.optional(
    ({ settings }) => ofType("email", settings, ({ to }) => to),
    "Of `email`.",
  ),
  region: shape.oneOfValue("PagerdutyRegion", PAGERDUTY_REGIONS).optional(
    ({ settings }) => ofType("pagerduty", settings, ({ region }) => region),
    "Of `pagerduty`.",
  ),
  default: shape.booleanValue(({ settings }) => settings.isDefault),
  include_error: shape.booleanValue(({ settings }) => settings.includeError),
  enabled: shape.booleanValue(({ settings }) => settings.enabled),
  state: state(
    ({ health }) => health.state,
    "`failing`: the last try failed. `broken`: nothing is sent until a test succeeds. " +
      "`needs_secret`: its secrets cannot be opened; set them again.",
  ),
  last_ok_at: shape.instantValue.orNull(
    ({ health }) => health.lastOkAt,
    "Latest delivery that succeeded.",
  ),
  failing_since: shape.instantValue.orNull(
    ({ health }) => health.failingSince,
    "First failure since then. Null if nothing was tried, as by mail without a mail server.",
  ),
  last_error: shape.textValue.orNull(
    ({ health }) => health.lastError,
    "Result of the last failure.",
  ),
  ...TAIL_FIELDS,
});

function ofType<Type extends ChannelType, Value>(
  type: Type,
  settings: ChannelSettings,
  valueOf: (settings: SettingsOf<Type>) => Value,
): Value | undefined {
  return settings.type === type ? valueOf(settings as SettingsOf<Type>) : undefined;
}

const SENT = {
  type: "webhook",
  url: "https://hooks.example.org/runledger?token=abcd",
  events: ["incident.*"],
  headers: { "X-Source": "runledger" },
  default: true,
};

const CHANNEL = {
  slug: "ops",
  id: "chn_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0007",
  version: 1,
  type: "webhook",
  hint: { url: "abcd", secret: "Hs0=" },
  host: "hooks.example.org",
  events: ["incident.*"],
  headers: { "X-Source": "runledger" },
  default: true,
  include_error: true,
  enabled: true,
  state: "ok",
  last_ok_at: null,
  failing_since: null,
  last_error: null,
  created_at: "2026-11-21T12:00:00.000Z",
  updated_at: "2026-11-21T12:00:00.000Z",
  updated_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
};

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHs0=";

/** The channel, with more fields after its host. */
function withSecret(more: object): object {
  const { slug, id, version, type, hint, host, ...rest } = CHANNEL;
  return { slug, id, version, type, hint, host, secret: SECRET, ...more, ...rest };
}

async function rowsOf(
  { channels }: AppDeps,
  team: Team,
  objects: readonly Channel[],
): Promise<ChannelRow[]> {
  const healths = await channels.health(team, objects.map(({ slug }) => slug));
  return objects.map((channel) => ({
    ...channel,
    health: healths.get(channel.slug) ?? NEW_HEALTH,
    newSecret: null,
  }));
}

const OBJECTS = objectEndpoints<
  ChannelSettings,
  OpenedChannelSettings,
  ChannelRow,
  PutChannel
>({
  tag: "Channels",
  kind: "channel",
  name: "Channel",
  storeOf: ({ channels }) => channels,
  parse: parseChannel,
  rowsOf,
  rowOfPut: (row, { secret }) => ({ ...row, newSecret: secret }),
  body: channelBody.meta({ id: "ChannelRequest" }),
  value: channelValue,
  texts: {
    put: "Creates a place that messages go to, or changes it. Each type has its own fields. A " +
      "secret that is not sent stays; reads show its last 4 characters. A generated `secret` is " +
      "returned by this call alone.",
    list: "Lists channels by slug, with the state of their deliveries.",
    remove: "Deletes a channel. Its waiting deliveries are cancelled.",
  },
  errors: ["egress_denied"],
  example: { slug: CHANNEL.slug, sent: SENT, answer: CHANNEL, put: withSecret({}) },
});

/** Endpoints of `/v1/channels`. */
export const CHANNEL_ENDPOINTS = [
  ...OBJECTS,
  ...endpoints("Channels", {
    rotateChannel: {
      route: "POST /v1/channels/:slug/rotate",
      access: teamKey("admin"),
      mayLackBody: true,
      handler: async (c, deps) => {
        const overlap = parseChannelRotation(c.get("body"));
        if (!overlap.ok) return fail(c, overlap.problem);
        const slug = slugInPath(c);
        const { team } = c.get("principal");
        const rotated = slug === null
          ? null
          : await deps.channels.rotate(team, slug, overlap.value, madeBy(c, deps));
        if (rotated === null) return fail(c, noSuch("channel"));
        if (!rotated.ok) return fail(c, rotated.problem);
        const { channel, secret } = rotated.value;
        const [row] = await rowsOf(deps, team, [channel]) as [ChannelRow];
        const json = channelValue.write({ ...row, newSecret: secret });
        return answer(c, 200, json, { "Cache-Control": "no-store" });
      },
      summary: "Rotate the secret of a webhook",
      description: "Generates a new secret, which this response alone contains. Until the end of " +
        `the overlap, ${OVERLAP_HOURS.default} hours unless you say otherwise, both secrets sign. ` +
        "The body may be empty. A channel of another type returns 404.",
      pathFields: { slug: configSlug.describe("The channel's slug.") },
      body: rotateBody.meta({ id: "ChannelRotationRequest" }),
      answers: ok("The channel with its new secret.", channelValue),
      errors: ["not_found"],
      idempotency: "none",
      example: {
        path: { slug: CHANNEL.slug },
        body: { overlap_hours: 48 },
        answer: { ...withSecret({ previous_until: "2026-11-23T12:00:00.000Z" }), version: 2 },
        needs: ["putChannel"],
      },
    },
  }),
];
