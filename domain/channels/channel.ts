/**
 * Channels: the places that messages about incidents go to, the forms of their addresses, and the
 * contract of what seals their secrets (decision 52).
 *
 * @module
 */
import ipaddr from "ipaddr.js";
import type { MessageEvent } from "./message.ts";
import type { ConfigObject } from "../config/objects.ts";
import type { TeamId } from "../core/ids.ts";

/** Types of chats: one address, a message a second, and several messages in one request. */
export const CHAT_TYPES = ["slack", "mattermost"] as const;

/** Types of channels. */
export const CHANNEL_TYPES = ["webhook", "email", ...CHAT_TYPES, "pagerduty"] as const;

/** One of {@link CHANNEL_TYPES}. Discord takes the form of `slack` at its own `/slack` address. */
export type ChannelType = typeof CHANNEL_TYPES[number];

/** Returns whether a channel is a chat. */
export function isChat(type: ChannelType): boolean {
  return CHAT_TYPES.some((chat) => chat === type);
}

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
    | { readonly type: typeof CHAT_TYPES[number]; readonly url: Secret; readonly host: string }
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

/** An IP address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network: its address and the length of its prefix. */
export type Network = readonly [Address, number];

/** IPv6 addresses that providers assign. All other ones have special purposes. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Server of a cloud that answers its machines with their settings, at an address like a public one. */
const PUBLIC_METADATA = ipaddr.IPv4.parseCIDR("168.63.129.16/32");

/** The same of other clouds, in private networks. */
const PRIVATE_METADATA = ["fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32"]
  .map((text) => ipaddr.parseCIDR(text));

/** Kinds that no listed host name opens: metadata, and IPv6 addresses that contain an IPv4 one. */
const BY_NETWORK_ALONE: ReadonlySet<string> = new Set([
  "linkLocal",
  "unspecified",
  "multicast",
  "broadcast",
  "ipv4Mapped",
  "rfc6145",
  "rfc6052",
  "6to4",
  "teredo",
]);

/** IPv6 addresses that contain an IPv4 one in their last 32 bits; few systems still use them. */
const COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96");

/** Parses an address in its usual notation, without brackets; null for any other text. */
export function parseAddress(text: string): Address | null {
  // The library also reads octal, hexadecimal and short forms, which URLs contain in none of them.
  const isUsual = text.includes(":")
    ? ipaddr.IPv6.isValid(text)
    : ipaddr.IPv4.isValidFourPartDecimal(text);
  return isUsual ? ipaddr.parse(text) : null;
}

/** Parses `address/bits`; null for any other text, and for an address with bits beyond the prefix. */
export function parseNetwork(text: string): Network | null {
  const [, start = "", bits] = /^(.+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseAddress(start);
  if (address === null || !ipaddr.isValidCIDR(text)) return null;
  const first = address.kind() === "ipv4"
    ? ipaddr.IPv4.networkAddressFromCIDR(text)
    : ipaddr.IPv6.networkAddressFromCIDR(text);
  return first.toString() === address.toString() ? [address, Number(bits)] : null;
}

/** Returns whether a network contains an address. IPv4 and IPv6 never contain each other. */
export function contains([start, bits]: Network, address: Address): boolean {
  return start.kind() === address.kind() && address.match(start, bits);
}

/** Returns whether an address is outside of all private, reserved and metadata networks. */
export function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4"
    ? !contains(PUBLIC_METADATA, address)
    : contains(GLOBAL_V6, address);
}

/**
 * Returns whether only a listed network opens an address, and no listed host name: its owner may be
 * someone else than the one who answers there.
 */
export function needsNetwork(address: Address): boolean {
  return BY_NETWORK_ALONE.has(address.range()) ||
    [PUBLIC_METADATA, ...PRIVATE_METADATA].some((network) => contains(network, address)) ||
    (contains(COMPATIBLE, address) && address.range() !== "loopback");
}

/** A channel as stored. */
export type Channel = ConfigObject<ChannelSettings>;

/** Place of a secret: a sealed text cannot be opened at another one. */
export interface SecretPlace {
  /** The team. */
  readonly team: TeamId;
  /** Kind and slug of the object, such as `channel/ops`. */
  readonly object: string;
  /** Name of the field. */
  readonly field: string;
}

/** Seals secrets with a key that is not in the store. */
export interface Sealer {
  /** Seals a secret; null without a key. */
  seal(place: SecretPlace, secret: string): Promise<SealedSecret | null>;
  /** Opens a secret; null if it was sealed with another key or for another place. */
  open(place: SecretPlace, secret: SealedSecret): Promise<string | null>;
}
