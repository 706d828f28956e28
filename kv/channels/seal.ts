/**
 * Seals secrets with AES-256-GCM (decision 52). Team, object and field are authenticated with each
 * one, so that a sealed secret opens at its own place only. The key is in a file beside the ledger,
 * or in a setting where several processes share a KV.
 *
 * @module
 */
import type { Environment } from "../../domain/core/environment.ts";
import type {
  Channel,
  ChannelSettings,
  ChannelSettingsOf,
  OpenedChannelSettings,
  SealedSecret,
  Sealer,
  SecretPlace,
} from "../../domain/channels/channel.ts";
import { dirname } from "node:path";
import { createPrivate, isThere, sealOf } from "../base/files.ts";
import { isShared, type KvLocation } from "../location.ts";
import type { EgressPolicy } from "../../domain/channels/sender.ts";
import { refuse } from "../../domain/core/errors.ts";
import { NO_MAIL_SERVER } from "../../domain/core/mail.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Team } from "../../domain/teams/team.ts";

/** Bytes of a key. */
export const SEAL_KEY_BYTES = 32;

/** Bytes of an initialization vector, which precedes the ciphertext. */
const IV_BYTES = 12;

/** Characters of a secret that reads show. */
const HINT_CHARS = 4;

/** Finds the key. */
export interface SealKeys {
  /** Returns the key; null if there is none. */
  find(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Returns the key, and makes one if there is none; null if it cannot be made here. */
  make(): Promise<Uint8Array<ArrayBuffer> | null>;
}

/** Creates a sealer. The key is read when it is needed. */
export function createSealer(keys: SealKeys, { random }: Pick<Environment, "random">): Sealer {
  return {
    async seal(place, secret) {
      const key = await imported(await keys.make());
      if (key === null) return null;
      const iv = new Uint8Array(random(IV_BYTES));
      const text = new TextEncoder().encode(secret);
      const sealed = await crypto.subtle.encrypt(parametersOf(place, iv), key, text);
      const bytes = new Uint8Array(IV_BYTES + sealed.byteLength);
      bytes.set(iv);
      bytes.set(new Uint8Array(sealed), IV_BYTES);
      return { sealed: bytes, hint: secret.slice(-HINT_CHARS) };
    },
    async open(place, { sealed }) {
      const key = await imported(await keys.find());
      if (key === null) return null;
      const iv = new Uint8Array(sealed.subarray(0, IV_BYTES));
      const ciphertext = new Uint8Array(sealed.subarray(IV_BYTES));
      try {
        const text = await crypto.subtle.decrypt(parametersOf(place, iv), key, ciphertext);
        return new TextDecoder().decode(text);
      } catch {
        // Another key, another place, or changed bytes.
        return null;
      }
    },
  };
}

/** Returns keys that are the one that is set. */
export function givenKey(key: Uint8Array<ArrayBuffer> | null): SealKeys {
  return { find: () => Promise.resolve(key), make: () => Promise.resolve(key) };
}

/** Parses the base64 of a key; null for any other text. */
export function parseSealKey(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const key = Uint8Array.fromBase64(text);
    return key.length === SEAL_KEY_BYTES ? key : null;
  } catch {
    return null;
  }
}

async function imported(key: Uint8Array<ArrayBuffer> | null): Promise<CryptoKey | null> {
  return key && await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
}

function parametersOf({ team, object, field }: SecretPlace, iv: Uint8Array<ArrayBuffer>) {
  const additionalData = new TextEncoder().encode(JSON.stringify([team, object, field]));
  return { name: "AES-GCM", iv, additionalData };
}

/**
 * Returns the key of a service: the one that is set, else that of its ledger. A shared KV has none of
 * its own, because its instances would make different ones.
 */
export function sealKeysOf(ledger: KvLocation, setKey: Uint8Array<ArrayBuffer> | null): SealKeys {
  if (setKey !== null || isShared(ledger)) return givenKey(setKey);
  return ledger.kind === "file" ? keyFile(ledger.name) : givenKey(newKey());
}

function newKey(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(SEAL_KEY_BYTES));
}

/** Returns the key in the file of a ledger. */
export function keyFile(ledger: string): SealKeys {
  const path = sealOf(ledger);
  let opening: Promise<Uint8Array<ArrayBuffer> | null> | null = null;
  const find = () => readKey(path);
  const make = async () => {
    const key = await readKey(path);
    if (key !== null || await isThere(path)) return key;
    return await makeKey(path);
  };
  return {
    find,
    make() {
      // Two calls at once must not make two keys.
      opening ??= make().finally(() => opening = null);
      return opening;
    },
  };
}

async function readKey(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return parseSealKey((await Deno.readTextFile(path)).trim());
  } catch {
    return null;
  }
}

/** Makes a key that is on the disk before anything is sealed with it; null if the disk refuses it. */
async function makeKey(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const key = newKey();
  const partial = `${path}.partial`;
  try {
    if (await isThere(partial)) await Deno.remove(partial);
    await createPrivate(partial);
    {
      using file = await Deno.open(partial, { write: true });
      await file.write(new TextEncoder().encode(`${key.toBase64()}\n`));
      await file.sync();
    }
    await Deno.rename(partial, path);
    using folder = await Deno.open(dirname(path));
    await folder.sync();
    return key;
  } catch {
    return null;
  }
}

/** Names of secret fields; a secret before a rotation keeps the place that it was sealed for. */
type SecretField = "url" | "secret" | "routing_key";

/** Seals and opens the secrets of one channel. */
export class ChannelSecrets {
  readonly #sealer: Sealer;
  readonly #place: { readonly team: TeamId; readonly object: string };

  constructor(sealer: Sealer, team: TeamId, slug: string) {
    this.#sealer = sealer;
    this.#place = { team, object: `channel/${slug}` };
  }

  open(field: SecretField, secret: SealedSecret): Promise<string | null> {
    return this.#sealer.open({ ...this.#place, field }, secret);
  }

  /** Seals a secret, unless the stored one is the same or it was not sent. */
  async seal(field: SecretField, sent: string, stored: SealedSecret | null): Promise<SealedSecret> {
    if (sent === "") {
      if (stored !== null) return stored;
      return refuse("missing_field", `Field "${field}" is required: it was never set`, field);
    }
    if (stored !== null && await this.open(field, stored) === sent) {
      return stored;
    }
    const sealed = await this.#sealer.seal({ ...this.#place, field }, sent);
    return sealed ?? refuseWithoutKey(field);
  }
}

function refuseWithoutKey(field: string): never {
  const message = `Field "${field}" cannot be stored: secrets are sealed with a key that this ` +
    "service does not have; its operator must set RUNLEDGER_SEAL_KEY";
  return refuse("invalid_field", message, field);
}

/** Settings to seal, and what they replace. */
export interface Sealing {
  readonly secrets: ChannelSecrets;
  readonly egress: EgressPolicy;
  readonly hasMailServer: boolean;
  readonly sent: OpenedChannelSettings;
  /** Secret of a webhook that has none. */
  readonly spare: string;
  /** Stored settings; null for none. */
  readonly before: ChannelSettings | null;
}

/** Seals the secrets of settings. Those that are not sent stay, if the type does. */
export async function sealSettings(sealing: Sealing): Promise<ChannelSettings> {
  const { secrets, hasMailServer, sent, before, spare } = sealing;
  switch (sent.type) {
    case "email":
      return hasMailServer
        ? sent
        : refuse("invalid_field", `Field "type" cannot be email: ${NO_MAIL_SERVER}`, "type");
    case "pagerduty": {
      const stored = before?.type === sent.type ? before.routingKey : null;
      const routingKey = await secrets.seal("routing_key", sent.routingKey, stored);
      return { ...sent, routingKey };
    }
    case "webhook": {
      const stored = before?.type === sent.type ? before : null;
      const address = await sealUrl(sealing, sent, stored);
      const toSeal = sent.secret === "" && stored === null ? spare : sent.secret;
      const secret = await secrets.seal("secret", toSeal, stored?.secret ?? null);
      // Another secret that is sent replaces the stored one at once.
      const previous = stored?.secret === secret ? stored.previous : null;
      return { ...sent, ...address, secret, previous };
    }
    default: {
      const address = await sealUrl(sealing, sent, before?.type === sent.type ? before : null);
      return { ...sent, ...address };
    }
  }
}

/** A sealed address, and its host to show. */
interface SealedAddress {
  readonly url: SealedSecret;
  readonly host: string;
}

async function sealUrl(
  { secrets, egress }: Sealing,
  { url, host }: { readonly url: string; readonly host: string },
  before: SealedAddress | null,
): Promise<SealedAddress> {
  const refusal = url === "" ? null : egress.refusal(url);
  if (refusal !== null) {
    return refuse("egress_denied", `Field "url" is not allowed: ${refusal}`, "url");
  }
  const sealed = await secrets.seal("url", url, before?.url ?? null);
  return { url: sealed, host: url === "" ? before?.host ?? "" : host };
}

/** Opens the secrets of a channel, to send; null if a key is missing. */
export type OpenChannel = (
  team: Pick<Team, "id">,
  channel: Channel,
) => Promise<OpenedChannelSettings | null>;

/** Returns the function that opens the secrets of channels. */
export function opening(sealer: Sealer): OpenChannel {
  return ({ id }, { slug, settings }) =>
    openSettings(new ChannelSecrets(sealer, id, slug), settings);
}

/** Opens the secrets of settings; null if one cannot be opened. */
async function openSettings(
  secrets: ChannelSecrets,
  settings: ChannelSettings,
): Promise<OpenedChannelSettings | null> {
  switch (settings.type) {
    case "email":
      return settings;
    case "pagerduty": {
      const routingKey = await secrets.open("routing_key", settings.routingKey);
      return routingKey === null ? null : { ...settings, routingKey };
    }
    case "webhook": {
      const [url, secret] = await Promise.all([
        secrets.open("url", settings.url),
        secrets.open("secret", settings.secret),
      ]);
      if (url === null || secret === null) return null;
      return { ...settings, url, secret, previous: await openPrevious(secrets, settings) };
    }
    default: {
      const url = await secrets.open("url", settings.url);
      return url === null ? null : { ...settings, url };
    }
  }
}

type Webhook<Secret> = Extract<ChannelSettingsOf<Secret>, { readonly type: "webhook" }>;

/** Opens the secret before a rotation; the new one signs alone if it cannot be opened. */
async function openPrevious(
  secrets: ChannelSecrets,
  { previous }: Webhook<SealedSecret>,
): Promise<Webhook<string>["previous"]> {
  const secret = previous && await secrets.open("secret", previous.secret);
  return previous === null || secret === null ? null : { ...previous, secret };
}
