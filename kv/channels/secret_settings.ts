/**
 * Seals and opens the secrets in the settings of channels.
 *
 * @module
 */
import type {
  ChannelSettings,
  ChannelSettingsOf,
  OpenedChannelSettings,
  SealedSecret,
} from "../../domain/channels/channel.ts";
import type { Sealer } from "../../domain/channels/secrets.ts";
import type { EgressPolicy } from "../../domain/channels/sender.ts";
import { type Parsed, type Problem, refuse } from "../../domain/core/errors.ts";
import { NO_MAIL_SERVER } from "../../domain/core/mail.ts";
import type { TeamId } from "../../domain/core/ids.ts";

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
  async seal(
    field: SecretField,
    sent: string,
    stored: SealedSecret | null,
  ): Promise<Parsed<SealedSecret>> {
    if (sent === "") {
      if (stored !== null) return { ok: true, value: stored };
      return refuse("missing_field", `Field "${field}" is required: it was never set`, field);
    }
    if (stored !== null && await this.open(field, stored) === sent) {
      return { ok: true, value: stored };
    }
    const sealed = await this.#sealer.seal({ ...this.#place, field }, sent);
    return sealed === null ? { ok: false, problem: noKey(field) } : { ok: true, value: sealed };
  }
}

/** Returns the refusal of a secret that cannot be sealed. */
export function noKey(field: string): Problem {
  return {
    code: "invalid_field",
    message: `Field "${field}" cannot be stored: secrets are sealed with a key that this service ` +
      "does not have; its operator must set RUNLEDGER_SEAL_KEY",
    field,
  };
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
export async function sealSettings(sealing: Sealing): Promise<Parsed<ChannelSettings>> {
  const { secrets, hasMailServer, sent, before, spare } = sealing;
  switch (sent.type) {
    case "email":
      return hasMailServer
        ? { ok: true, value: sent }
        : refuse("invalid_field", `Field "type" cannot be email: ${NO_MAIL_SERVER}`, "type");
    case "pagerduty": {
      const stored = before?.type === sent.type ? before.routingKey : null;
      const routingKey = await secrets.seal("routing_key", sent.routingKey, stored);
      return routingKey.ok
        ? { ok: true, value: { ...sent, routingKey: routingKey.value } }
        : routingKey;
    }
    case "webhook": {
      const stored = before?.type === sent.type ? before : null;
      const address = await sealUrl(sealing, sent, stored);
      if (!address.ok) return address;
      const toSeal = sent.secret === "" && stored === null ? spare : sent.secret;
      const secret = await secrets.seal("secret", toSeal, stored?.secret ?? null);
      if (!secret.ok) return secret;
      // Another secret that is sent replaces the stored one at once.
      const previous = stored?.secret === secret.value ? stored.previous : null;
      return { ok: true, value: { ...sent, ...address.value, secret: secret.value, previous } };
    }
    default: {
      const address = await sealUrl(sealing, sent, before?.type === sent.type ? before : null);
      return address.ok ? { ok: true, value: { ...sent, ...address.value } } : address;
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
): Promise<Parsed<SealedAddress>> {
  const refusal = url === "" ? null : egress.refusal(url);
  if (refusal !== null) {
    return refuse("egress_denied", `Field "url" is not allowed: ${refusal}`, "url");
  }
  const sealed = await secrets.seal("url", url, before?.url ?? null);
  if (!sealed.ok) return sealed;
  return { ok: true, value: { url: sealed.value, host: url === "" ? before?.host ?? "" : host } };
}

/** Opens the secrets of settings; null if one cannot be opened. */
export async function openSettings(
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
