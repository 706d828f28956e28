/** The fields of a channel's form as texts, and the body of the API's call that they stand for. */
import {
  ALL_EVENTS,
  CHANNEL_TYPES,
  type ChannelSettings,
  type ChannelType,
} from "../../../domain/channels/channel.ts";
import type { Body } from "../../../domain/core/body.ts";
import { bodyOf, listIn, readInteger, readTexts, type Texts } from "../components/form_fields.tsx";

/** The content of a channel's form. */
export interface ChannelTexts {
  readonly type: ChannelType;
  readonly texts: Texts;
  /** Events of a webhook. */
  readonly events: readonly string[];
}

const TEXT_NAMES = [
  "slug",
  "version",
  "url",
  "to",
  "routing_key",
  "region",
  "headers",
  "default",
  "include_error",
  "enabled",
] as const;

/** Names of all fields, which show their own problems. */
export const FORM_NAMES: readonly string[] = [...TEXT_NAMES, "events"];

/** Returns the type of a name; the first one for another name. */
export function typeOf(name: string | null | undefined): ChannelType {
  return CHANNEL_TYPES.find((type) => type === name) ?? CHANNEL_TYPES[0];
}

/** Reads the submitted form. */
export function readChannelTexts(form: URLSearchParams): ChannelTexts {
  return {
    type: typeOf(form.get("type")),
    texts: readTexts(form, TEXT_NAMES),
    events: form.getAll("events"),
  };
}

/** Returns the form of a new channel: version 0 replaces no other channel. */
export function newChannel(type: ChannelType, isDefault: boolean): ChannelTexts {
  const texts = {
    version: "0",
    region: "us",
    default: String(isDefault),
    include_error: "true",
    enabled: "true",
  };
  return { type, texts, events: [ALL_EVENTS] };
}

/** Fills in the form from a channel; secrets stay empty, and so stay as they are. */
export function textsOfChannel(
  slug: string,
  settings: ChannelSettings,
  version: number,
): ChannelTexts {
  const { type, isDefault, includeError, enabled } = settings;
  const texts = {
    slug,
    version: String(version),
    default: String(isDefault),
    include_error: String(includeError),
    enabled: String(enabled),
  };
  switch (type) {
    case "webhook": {
      const headers = Object.entries(settings.headers).map(([name, value]) => `${name}: ${value}`);
      return { type, texts: { ...texts, headers: headers.join("\n") }, events: settings.events };
    }
    case "email":
      return { type, texts: { ...texts, to: settings.to.join(", ") }, events: [] };
    case "pagerduty":
      return { type, texts: { ...texts, region: settings.region }, events: [] };
    default:
      return { type, texts, events: [] };
  }
}

/** Returns the body of the API call that the form makes. */
export function bodyOfChannel({ type, texts, events }: ChannelTexts): Body {
  const text = (name: typeof TEXT_NAMES[number]) => texts[name] ?? "";
  const isSet = (name: typeof TEXT_NAMES[number]) => text(name) === "true";
  // An empty secret is left out, so that the stored one stays.
  const secret = (name: typeof TEXT_NAMES[number]) =>
    text(name) === "" ? {} : { [name]: text(name) };
  const fields = {
    webhook: () => ({ ...secret("url"), events, headers: headersIn(text("headers")) }),
    email: () => ({ to: listIn(text("to")) }),
    slack: () => secret("url"),
    mattermost: () => secret("url"),
    pagerduty: () => ({ ...secret("routing_key"), region: text("region") }),
  }[type]();
  return bodyOf({
    type,
    ...fields,
    default: isSet("default"),
    include_error: isSet("include_error"),
    enabled: isSet("enabled"),
    version: readInteger(text("version")),
  });
}

/** Reads lines such as `Name: value`. A line without a colon is a name without a value. */
function headersIn(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => {
    const [name = "", ...rest] = line.split(":");
    return [name.trim(), rest.join(":").trim()];
  }));
}
