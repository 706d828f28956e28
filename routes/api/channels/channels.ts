/** Endpoints of channels. */
import type { ChannelSettings, OpenedChannelSettings } from "../../../domain/channels/channel.ts";
import {
  channelBody,
  OVERLAP_HOURS,
  parseChannel,
  parseChannelRotation,
  rotateBody,
} from "../../../domain/channels/channel_body.ts";
import { NEW_HEALTH } from "../../../domain/channels/health.ts";
import type { Channel, PutChannel } from "../../../domain/channels/store.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { teamKey } from "../../http/access.ts";
import { answer, fail } from "../../http/answer.ts";
import type { AppDeps } from "../../http/context.ts";
import { madeBy } from "../../http/made_by.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { configSlug } from "../config/fields.ts";
import { noSuch, objectEndpoints, slugInPath } from "../config/objects.ts";
import { type ChannelRow, channelValue } from "./channel_json.ts";

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
