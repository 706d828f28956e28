/**
 * Sends messages to channels of all types.
 *
 * @module
 */
import type { ChannelType, OpenedChannelSettings } from "../domain/channels/channel.ts";
import { chatBody } from "../domain/channels/forms/chat.ts";
import { emailOf, isRecipient } from "../domain/channels/forms/email.ts";
import { PAGERDUTY_URLS, pagerdutyBody } from "../domain/channels/forms/pagerduty.ts";
import { webhookBody } from "../domain/channels/forms/webhook.ts";
import type { FormContext } from "../domain/channels/forms/words.ts";
import {
  type Envelope,
  SEND_MS_MAX,
  type Sender,
  type SendResult,
} from "../domain/channels/sender.ts";
import { type Mailer, NO_MAIL_SERVER } from "../domain/core/mail.ts";
import { createPost, type Post, type PostDeps, type PostRequest } from "./http.ts";
import { signatureHeaders } from "./signature.ts";
import { failure, resultOf } from "./verdict.ts";

export interface SenderDeps extends PostDeps {
  /** Null without a mail server. */
  readonly mailer: Mailer | null;
  /** Origin of links; null for no links. */
  readonly publicUrl: string | null;
  /** Addresses of PagerDuty by region, for tests; PagerDuty's own when absent. */
  readonly pagerdutyUrls?: typeof PAGERDUTY_URLS;
  /** Maximum milliseconds of a try, for tests; {@link SEND_MS_MAX} when absent. */
  readonly sendMsMax?: number;
}

type SettingsOf<Type extends ChannelType> = Extract<OpenedChannelSettings, { readonly type: Type }>;

/** A try of one envelope. */
interface Try extends SenderDeps {
  readonly post: Post;
  readonly envelope: Envelope;
  readonly context: FormContext;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

const USER_AGENT = "Runledger/1";

/** Creates a sender. */
export function createSender(deps: SenderDeps): Sender {
  const post = createPost(deps);
  return {
    async send(envelope, nowMs, signal) {
      const { team, settings: { includeError } } = envelope;
      const context = { team, publicUrl: deps.publicUrl, includeError };
      // One deadline for name lookup, connection and answer.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(deps.sendMsMax ?? SEND_MS_MAX)]);
      try {
        return await sendOne({ ...deps, post, envelope, context, nowMs, signal: limit });
      } catch {
        // Settings that no check has let through; the error may contain a secret.
        return failure("final", "The message cannot be sent with these settings");
      }
    },
  };
}

async function sendOne(attempt: Try): Promise<SendResult> {
  const { settings } = attempt.envelope;
  if (settings.type === "email") return await sendEmail(attempt, settings);
  const outcome = await attempt.post(requestOf(attempt, settings), attempt.signal);
  return resultOf(settings.type, outcome, attempt.nowMs);
}

function requestOf(
  { envelope, context, nowMs, pagerdutyUrls = PAGERDUTY_URLS }: Try,
  settings: Exclude<OpenedChannelSettings, SettingsOf<"email">>,
): PostRequest {
  const { id, messages } = envelope;
  const [message] = messages;
  if (message === undefined) throw new RangeError("An envelope has a message");
  switch (settings.type) {
    case "webhook": {
      const body = webhookBody(message, context);
      const secrets = secretsOf(settings, nowMs);
      const signed = signatureHeaders({ id, seconds: Math.floor(nowMs / 1_000), body }, secrets);
      return {
        url: settings.url,
        body,
        headers: { ...settings.headers, ...JSON_HEADERS, ...signed },
      };
    }
    case "pagerduty": {
      const body = pagerdutyBody(message, id, settings.routingKey, context);
      return { url: pagerdutyUrls[settings.region], body, headers: JSON_HEADERS };
    }
    case "slack":
    case "mattermost":
      return { url: settings.url, body: chatBody(messages, context), headers: JSON_HEADERS };
  }
}

const JSON_HEADERS = { "content-type": "application/json", "user-agent": USER_AGENT };

/** Returns the secrets that sign: the new one, and the one before until the end of its overlap. */
function secretsOf({ secret, previous }: SettingsOf<"webhook">, nowMs: number): string[] {
  return previous !== null && previous.untilMs > nowMs ? [secret, previous.secret] : [secret];
}

/**
 * Sends an e-mail. An unknown outcome is a failure: unlike quota notices, messages are repeated, and
 * their Message-ID stays the same.
 */
async function sendEmail(
  { envelope, context, mailer, signal }: Try,
  { to }: SettingsOf<"email">,
): Promise<SendResult> {
  if (mailer === null) return failure("retry", NO_MAIL_SERVER);
  if (!to.every(isRecipient)) return failure("final", "A recipient is not one e-mail address");
  const mail = emailOf(envelope.messages, envelope.id, to, context);
  const outcome = await mailer.send(mail, () => Promise.resolve(), signal);
  if (outcome.kind !== "sent") {
    const { error, status = null } = outcome;
    // Without an answer the error contains the address of the mail server.
    const reason = status === null ? NO_MAIL_ANSWER[outcome.kind] : error;
    return { ...failure("retry", reason), status };
  }
  const { refused = 0 } = outcome;
  const error = refused === 0 ? null : `${refused} of ${to.length} recipients were refused`;
  return { verdict: "delivered", status: 250, error, retryAfterMs: null, answer: null };
}

const NO_MAIL_ANSWER = {
  failed: "The mail server could not be reached, or took too long",
  unknown: "The mail server got the message and did not answer",
} as const;
