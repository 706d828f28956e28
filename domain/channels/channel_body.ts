/**
 * Channels as configured objects: their schema by type, and their fields.
 *
 * @module
 */
import { z } from "zod";
import { flag, someOf, versionField, whole } from "../config/body.ts";
import type { ConfigRequest, ObjectFields, ObjectKind } from "../config/objects.ts";
import type { Body, JsonFields } from "../core/body.ts";
import { Refused } from "../core/errors.ts";
import { oneOf, optional } from "../core/fields.ts";
import { OVERLAP_HOURS } from "../core/limits.ts";
import { formatInstantOrNull } from "../core/time.ts";
import { check, unknownField } from "../core/validate.ts";
import {
  ALL_EVENTS,
  CHANNEL_TYPES,
  type ChannelSettings,
  type ChannelType,
  type OpenedChannelSettings,
  PAGERDUTY_REGIONS,
} from "./channel.ts";
import { isRecipient } from "./forms/email.ts";
import { MESSAGE_EVENTS } from "./message.ts";
import { nextStep } from "./delivery.ts";

/** Maximum characters of an address. */
export const URL_CHARS_MAX = 2_048;

/** Maximum own headers of a webhook, and characters of a name and of a value. */
export const HEADERS_MAX = { count: 10, nameChars: 64, valueChars: 512 } as const;

/** Maximum recipients of an e-mail channel. */
export const RECIPIENTS_MAX = 10;

/** Minimum and maximum bytes of an own secret. */
export const SECRET_BYTES = { min: 24, max: 64 } as const;

/** Begins a secret. */
export const SECRET_PREFIX = "whsec_";

/** Maximum characters of an own secret: base64 has 4 characters for 3 bytes. */
const SECRET_CHARS_MAX = SECRET_PREFIX.length + 4 * Math.ceil(SECRET_BYTES.max / 3);

/** Maximum characters of an e-mail address. */
const RECIPIENT_CHARS_MAX = 254;

const URL_TEXT = `a URL of at most ${URL_CHARS_MAX} characters`;
const SECRET =
  `${SECRET_PREFIX} and the base64 of ${SECRET_BYTES.min} to ${SECRET_BYTES.max} bytes`;
const KEY = "an integration key of 8 to 128 letters and digits";
const RECIPIENTS = `a list of 1 to ${RECIPIENTS_MAX} e-mail addresses`;
const HEADERS = `an object of at most ${HEADERS_MAX.count} headers: names of at most ` +
  `${HEADERS_MAX.nameChars} characters, values of 1 to ${HEADERS_MAX.valueChars} printable ASCII ` +
  "characters without surrounding spaces; none of webhook-*, content-*, host, connection and other " +
  "headers of the connection";

/** Headers of the request itself, or of one connection. */
const RESERVED_HEADER =
  /^(webhook-.*|content-.*|proxy-.*|host|connection|keep-alive|te|trailer|trailers|transfer-encoding|upgrade|expect)$/;

const EVENTS = [ALL_EVENTS, ...MESSAGE_EVENTS.filter((event) => event !== "channel.test")] as const;

const fields = {
  url: optional(z.string(URL_TEXT).refine(isUrl, URL_TEXT).meta({ maxLength: URL_CHARS_MAX }))
    .describe("Of `webhook`, `slack`, `mattermost`: the address, stored as a secret."),
  secret: optional(
    z.string(SECRET).refine(isSecret, SECRET)
      .meta({ pattern: "^whsec_", maxLength: SECRET_CHARS_MAX }),
  )
    .describe("Of `webhook`: the key of the signature; generated when it was never set."),
  events: optional(someOf(EVENTS, "ChannelEvent")).describe(
    `Of \`webhook\`: events to send, \`${ALL_EVENTS}\` for all; all when absent.`,
  ),
  headers: optional(
    z.record(z.string(), z.string(HEADERS), HEADERS).refine(areHeaders, HEADERS)
      .meta({ id: "ChannelHeaders" }),
  )
    .describe("Of `webhook`: own headers. Reads return their values."),
  to: z.array(
    z.string(RECIPIENTS).refine(isRecipient, RECIPIENTS).meta({ maxLength: RECIPIENT_CHARS_MAX }),
    RECIPIENTS,
  )
    .min(1, RECIPIENTS).max(RECIPIENTS_MAX, RECIPIENTS).describe("Of `email`: the recipients."),
  routing_key: optional(z.string(KEY).regex(/^[A-Za-z0-9_-]{8,128}$/, KEY))
    .describe("Of `pagerduty`: the integration key, stored as a secret."),
  region: optional(oneOf("PagerdutyRegion", PAGERDUTY_REGIONS))
    .describe("Of `pagerduty`: `us` when absent."),
};

const common = {
  default: flag(false).describe("True if rules without channels use it; false when absent."),
  include_error: flag(true)
    .describe("False to leave out the first 200 characters of a run's error; true when absent."),
  enabled: flag(true).describe("`false` sends nothing."),
  version: versionField,
};

const type = oneOf("ChannelType", CHANNEL_TYPES).describe(
  "Type. Discord takes `slack`, at its own address that ends in `/slack`.",
);

/**
 * Body of `PUT /v1/channels/{slug}`, with the fields of all types.
 *
 * @internal
 */
export const channelBody = z.object({ type, ...fields, to: optional(fields.to), ...common });

const { url, secret, events, headers, to, routing_key, region } = fields;

/** Bodies by type, with the same fields in the same order. */
const BODIES = {
  webhook: z.object({ type, url, secret, events, headers, ...common }),
  email: z.object({ type, to, ...common }),
  slack: z.object({ type, url, ...common }),
  mattermost: z.object({ type, url, ...common }),
  pagerduty: z.object({ type, routing_key, region, ...common }),
} satisfies Record<ChannelType, z.ZodType>;

/** Validates the body of `PUT /v1/channels/{slug}`. */
function parseChannel(body: JsonFields): ConfigRequest<OpenedChannelSettings> {
  const sent = body["type"];
  const known = CHANNEL_TYPES.find((type) => type === sent);
  const schema: z.ZodType<z.output<typeof channelBody>> = known === undefined
    ? channelBody
    : BODIES[known] as never;
  // The fields of other types are unknown to this one.
  const unknown = unknownField(schema, body);
  if (unknown !== null) throw new Refused(unknown);
  const parsed = check(schema, body);
  return { settings: settingsOf(parsed), version: parsed.version };
}

function settingsOf(sent: z.output<typeof channelBody>): OpenedChannelSettings {
  const { type, url = "" } = sent;
  const common = {
    isDefault: sent.default,
    includeError: sent.include_error,
    enabled: sent.enabled,
  };
  const host = url === "" ? "" : new URL(url).host;
  switch (type) {
    case "webhook": {
      const { secret = "", events = [ALL_EVENTS], headers = {} } = sent;
      return { ...common, type, url, host, secret, previous: null, events, headers };
    }
    case "email":
      return { ...common, type, to: sent.to ?? [] };
    case "pagerduty":
      return { ...common, type, routingKey: sent.routing_key ?? "", region: sent.region ?? "us" };
    default:
      return { ...common, type, url, host };
  }
}

/**
 * Channels. A secret that is not sent is empty, which keeps the stored one; its fields show a hint.
 * A change wakes the channel: its waiting messages may be sent now, or are cancelled.
 */
export const CHANNELS: ObjectKind<ChannelSettings, OpenedChannelSettings> = {
  kind: "channel",
  prefix: "chn",
  cap: 20,
  schema: channelBody,
  variants: { field: "type", schemas: BODIES },
  parse: parseChannel,
  fieldsOf: (settings) => ({
    type: settings.type,
    ...ownFields(settings),
    default: settings.isDefault,
    include_error: settings.includeError,
    enabled: settings.enabled,
  }),
  follow: ({ atMs }) => ({ file: [{ kind: "channel", at: nextStep(atMs) }] }),
};

function ownFields(settings: ChannelSettings): ObjectFields {
  switch (settings.type) {
    case "email":
      return { to: settings.to };
    case "pagerduty":
      return { hint: { routing_key: settings.routingKey.hint }, region: settings.region };
    case "webhook": {
      const { url, host, secret, previous, events, headers } = settings;
      return {
        hint: { url: url.hint, secret: secret.hint },
        host,
        previous_until: formatInstantOrNull(previous?.untilMs),
        events,
        headers: { ...headers },
      };
    }
    default:
      return { hint: { url: settings.url.hint }, host: settings.host };
  }
}

/**
 * Body of `POST /v1/channels/{slug}/rotate`.
 *
 * @internal
 */
export const rotateBody = z.object({
  overlap_hours: optional(whole(OVERLAP_HOURS)).describe(
    `Hours for which the old secret signs too; ${OVERLAP_HOURS.default} when absent.`,
  ),
});

/** Parses the hours for which both secrets sign. */
export function parseChannelRotation(body: Body): number {
  return check(rotateBody, body.value).overlap_hours ?? OVERLAP_HOURS.default;
}

/** Only its syntax: the rules for addresses decide whether it may be called. */
function isUrl(text: string): boolean {
  return text.length <= URL_CHARS_MAX && !/[\p{Cc}\s]/u.test(text) && URL.canParse(text) &&
    new URL(text).host !== "";
}

function isSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  if (base64 === undefined) return false;
  try {
    const { length } = Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
    return length >= SECRET_BYTES.min && length <= SECRET_BYTES.max;
  } catch {
    return false;
  }
}

function areHeaders(headers: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return names.length <= HEADERS_MAX.count && new Set(names).size === names.length &&
    Object.entries(headers).every(([name, value]) =>
      /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/.test(name) &&
      !RESERVED_HEADER.test(name.toLowerCase()) &&
      value.length <= HEADERS_MAX.valueChars &&
      /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    );
}
