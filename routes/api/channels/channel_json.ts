/** JSON of channels in responses. Secrets are never returned, except a new one. */
import { z } from "zod";
import {
  CHANNEL_TYPES,
  type ChannelHealth,
  type ChannelSettings,
  type ChannelType,
  PAGERDUTY_REGIONS,
} from "../../../domain/channels/channel.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import * as shape from "../../openapi/wire.ts";
import { headFields, TAIL_FIELDS, textsValue } from "../config/fields.ts";

/** A channel with what is shown of it in addition. */
export interface ChannelRow extends Channel {
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
export const channelValue = shape.objectValue<ChannelRow>("Channel", {
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
