/** Endpoints of channels, and their JSON. Secrets are never returned, except a new one. */
import { existing } from "../../../domain/core/errors.ts";
import type {
  ChannelHealth,
  ChannelSettings,
  OpenedChannelSettings,
} from "../../../domain/channels/channel.ts";
import { NEW_HEALTH } from "../../../domain/channels/delivery.ts";
import {
  CHANNELS,
  parseChannelRotation,
  rotateBody,
} from "../../../domain/channels/channel_body.ts";
import { OVERLAP_HOURS } from "../../../domain/core/limits.ts";
import { teamKey } from "../../http/access.ts";
import { answer } from "../../http/answer.ts";
import { madeBy } from "../../http/context.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import {
  configSlug,
  noSuch,
  type ObjectApi,
  objectEndpoints,
  settingsFields,
  type ShownObject,
  slugInPath,
  writerOf,
} from "../objects.ts";
import * as shape from "../../openapi/wire.ts";

/** Members of the response besides the settings of a channel. */
interface ChannelDetails {
  readonly health: ChannelHealth;
  /** A secret that was just generated; null for none. */
  readonly newSecret: string | null;
}

type ChannelRow = ShownObject<ChannelSettings, ChannelDetails>;

const hint = shape.object<Readonly<Record<string, string>>>("ChannelHint", {
  url: shape.text.optional(({ url }) => url),
  secret: shape.text.optional(({ secret }) => secret),
  routing_key: shape.text.optional(({ routing_key }) => routing_key),
}, "The last 4 characters of each secret.");

const state = shape.oneOf("ChannelState", ["ok", "failing", "broken", "needs_secret"]);

const FIELDS: shape.WireFields<ChannelRow> = {
  ...settingsFields(CHANNELS, "type"),
  hint: hint(({ fields }) => (fields["hint"] ?? {}) as Readonly<Record<string, string>>),
  host: shape.text.optional(
    ({ settings }) => "host" in settings ? settings.host : undefined,
    "Of `webhook`, `slack` and `mattermost`: the host of the address.",
  ),
  secret: shape.text.optional(
    ({ newSecret }) => newSecret ?? undefined,
    "Of `webhook`: the secret, in the response to the call that generates it and in no other.",
  ),
  previous_until: shape.instant.optional(
    ({ settings }) => settings.type === "webhook" ? settings.previous?.untilMs : undefined,
    "Of `webhook`: until then the secret before the latest rotation signs too.",
  ),
  ...settingsFields(CHANNELS, "events", "headers", "to", "region"),
  ...settingsFields(CHANNELS, "default", "include_error", "enabled"),
  state: state(
    ({ health }) => health.state,
    "`failing`: the last try failed. `broken`: nothing is sent until a test succeeds. " +
      "`needs_secret`: its secrets cannot be opened; set them again.",
  ),
  last_ok_at: shape.instant.orNull(
    ({ health }) => health.lastOkAt,
    "Latest delivery that succeeded.",
  ),
  failing_since: shape.instant.orNull(
    ({ health }) => health.failingSince,
    "First failure since then. Null if nothing was tried, as by mail without a mail server.",
  ),
  last_error: shape.text.orNull(({ health }) => health.lastError, "Result of the last failure."),
};

const API: ObjectApi<ChannelSettings, OpenedChannelSettings, ChannelDetails> = {
  of: CHANNELS,
  tag: "Channels",
  fields: FIELDS,
  read: async ({ channels }, team, objects) => {
    const healths = await channels.health(team, objects.map(({ slug }) => slug));
    return objects.map(({ slug }) => ({
      health: healths.get(slug) ?? NEW_HEALTH,
      newSecret: null,
    }));
  },
  showSecret: (newSecret) => ({ newSecret }),
  texts: {
    put: "Creates a place that messages go to, or changes it. Each type has its own fields. A " +
      "secret that is not sent stays; reads show its last 4 characters. A generated `secret` is " +
      "returned by this call alone.",
    list: "Lists channels by slug, with the state of their deliveries.",
    remove: "Deletes a channel. Its waiting deliveries are cancelled.",
  },
  errors: ["egress_denied"],
};

const { value: channelValue, rowOf } = writerOf(API);

/** Endpoints of `/v1/channels`. */
export const CHANNEL_ENDPOINTS = [
  ...objectEndpoints(API),
  ...endpoints("Channels", {
    rotateChannel: {
      route: "POST /v1/channels/:slug/rotate",
      access: teamKey("admin"),
      mayLackBody: true,
      handler: async (c, deps, { team }) => {
        const overlap = parseChannelRotation(c.get("body"));
        const slug = slugInPath(c, noSuch("channel"));
        const rotated = await deps.channels.rotate(team, slug, overlap, madeBy(c, deps));
        const { channel, secret } = existing(rotated, noSuch("channel"));
        const json = channelValue.write(await rowOf(deps, team, channel, secret));
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
    },
  }),
];
