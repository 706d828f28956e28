/**
 * Channels: the places that messages about incidents go to.
 *
 * @module
 */

import type { MessageEvent } from "./message.ts";

/** Types of channels. */
export const CHANNEL_TYPES = ["webhook", "email", "slack", "mattermost", "pagerduty"] as const;

/** One of {@link CHANNEL_TYPES}. Discord takes the form of `slack` at its own `/slack` address. */
export type ChannelType = typeof CHANNEL_TYPES[number];

/** Regions of PagerDuty. */
export const PAGERDUTY_REGIONS = ["us", "eu"] as const;

/** A secret as stored: sealed, with the last 4 characters to recognize it by (decision 52). */
export interface SealedSecret {
  /** Initialization vector and ciphertext, AES-256-GCM. */
  readonly sealed: Uint8Array;
  /** Last 4 characters of the secret. */
  readonly hint: string;
}

/** Settings that all channels have. */
export interface CommonSettings {
  /** True if rules without channels use it (decision 81). */
  readonly isDefault: boolean;
  /** True if messages contain the first 200 characters of a run's error (decision 91). */
  readonly includeError: boolean;
  /** False to send nothing. */
  readonly enabled: boolean;
}

/** Settings by type. `Secret` is a text as sent by a client, or {@link SealedSecret} as stored. */
export type ChannelSettingsOf<Secret> =
  & CommonSettings
  & (
    | {
      readonly type: "webhook";
      /** Address; a secret, because it often contains a token. */
      readonly url: Secret;
      /** Host of the address, to show. */
      readonly host: string;
      /** Key of the signature, `whsec_…`. */
      readonly secret: Secret;
      /** The secret before a rotation, which signs too until then; null for none. */
      readonly previous: { readonly secret: Secret; readonly untilMs: number } | null;
      /** Names of the messages to send, such as `incident.opened` or `incident.*`. */
      readonly events: readonly string[];
      /** Own headers; their values are shown. */
      readonly headers: Readonly<Record<string, string>>;
    }
    | { readonly type: "email"; readonly to: readonly string[] }
    | { readonly type: "slack" | "mattermost"; readonly url: Secret; readonly host: string }
    | {
      readonly type: "pagerduty";
      readonly routingKey: Secret;
      readonly region: typeof PAGERDUTY_REGIONS[number];
    }
  );

/** Settings as stored. */
export type ChannelSettings = ChannelSettingsOf<SealedSecret>;

/** Settings with their secrets readable, at sending and in a `PUT` alone. */
export type OpenedChannelSettings = ChannelSettingsOf<string>;

/** Returns whether a channel sends the messages of an event. A test is always sent. */
export function wants(settings: ChannelSettingsOf<unknown>, event: MessageEvent): boolean {
  if (event === "channel.test") return true;
  if (!settings.enabled) return false;
  if (settings.type !== "webhook") return true;
  return settings.events.some((name) => name === event || name === ALL_EVENTS);
}

/** Name that stands for all events of incidents. */
export const ALL_EVENTS = "incident.*";

/** State of a channel's deliveries. */
export interface ChannelHealth {
  /**
   * `ok`; `failing`: the last try failed; `broken`: nothing is sent until a test succeeds;
   * `needs_secret`: its secrets cannot be opened.
   */
  readonly state: "ok" | "failing" | "broken" | "needs_secret";
  /** Latest delivery that succeeded, unix milliseconds; null for none. */
  readonly lastOkAt: number | null;
  /** First failure since then, unix milliseconds; null for none. */
  readonly failingSince: number | null;
  /** Result of the last try that failed; null for none. */
  readonly lastError: string | null;
}
