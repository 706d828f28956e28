/**
 * Sends messages to channels of all types, and judges the answers (decision 86).
 *
 * @module
 */
import { createHmac } from "node:crypto";
import {
  type ChannelType,
  isChat,
  type OpenedChannelSettings,
} from "../domain/channels/channel.ts";
import { chatBody } from "../domain/channels/forms/chat.ts";
import { emailOf, isRecipient } from "../domain/channels/forms/email.ts";
import { PAGERDUTY_URLS, pagerdutyBody } from "../domain/channels/forms/pagerduty.ts";
import { type FormContext, webhookBody } from "../domain/channels/forms/words.ts";
import { RETRY_AFTER_MS_MAX } from "../domain/channels/delivery.ts";
import {
  type Envelope,
  SEND_MS_MAX,
  type Sender,
  type SendResult,
} from "../domain/channels/sender.ts";
import { type Mailer, NO_MAIL_SERVER } from "../domain/core/mail.ts";
import { cutText, printable } from "../domain/core/text.ts";
import {
  createPost,
  type Post,
  type PostDeps,
  type PostOutcome,
  type PostRequest,
} from "./http.ts";

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
      const signed = signatureHeaders(id, Math.floor(nowMs / 1_000), body, secrets);
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

/**
 * Returns the headers of a signed request, as Standard Webhooks 1.0.0 defines them.
 *
 * @param id identifier of the message, the same for all tries
 * @param seconds time of the try, unix seconds
 * @param secrets `whsec_` and base64, the newest first; each signs. A text that is not base64 throws
 */
function signatureHeaders(id: string, seconds: number, body: string, secrets: readonly string[]) {
  const signatures = secrets.map((secret) => {
    const key = Uint8Array.fromBase64(secret.replace(/^whsec_/, ""));
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}

/** Maximum characters of an answer that are kept. */
const ANSWER_CHARS_MAX = 256;

type Answered = PostOutcome & { readonly kind: "answered" };
type Verdict = SendResult["verdict"];

/**
 * Converts the outcome of a request to a result.
 *
 * @param nowMs time of the try, unix milliseconds
 */
export function resultOf(type: ChannelType, outcome: PostOutcome, nowMs: number): SendResult {
  switch (outcome.kind) {
    case "refused":
      // An operator may list the host, or its addresses change, before the last try.
      return failure("retry", `Refused by RUNLEDGER_EGRESS: ${outcome.rule}`);
    case "failed":
      return failure("retry", outcome.reason);
    case "invalid":
      return failure("final", outcome.reason);
    case "answered":
      return answerResult(type, outcome, nowMs);
  }
}

/** Returns the result of a try without an answer. */
function failure(verdict: Verdict, error: string): SendResult {
  return { verdict, status: null, error, retryAfterMs: null, answer: null };
}

function answerResult(type: ChannelType, answered: Answered, nowMs: number): SendResult {
  const { status, text, isPublic } = answered;
  const verdict = verdictOf(type, answered);
  const answer = cutText(printable(text), ANSWER_CHARS_MAX);
  return {
    verdict,
    status,
    error: verdict === "delivered" ? null : errorOf(answered, verdict),
    retryAfterMs: verdict === "retry" ? retryAfterOf(answered, nowMs) : null,
    answer: isPublic && answer !== "" ? answer : null,
  };
}

function verdictOf(type: ChannelType, { status, header }: Answered): Verdict {
  if (type === "pagerduty" ? status === 202 : status >= 200 && status < 300) return "delivered";
  if (status === 410) return "gone";
  if ([400, 401, 403, 404].includes(status) && isChat(type)) return "gone";
  if ([400, 401, 403].includes(status) && type === "pagerduty") return "final";
  return header("webhook-delivery") === "abort-message" ? "final" : "retry";
}

function errorOf({ status, header }: Answered, verdict: Verdict): string {
  if (header("webhook-delivery") === "abort-message") {
    return `${status}: the receiver wants no more`;
  }
  if (status >= 300 && status < 400) return `${status}: redirects are not followed`;
  return verdict === "gone"
    ? `${status}: the channel does not exist any more`
    : `Answered ${status}`;
}

/** Returns how long the receiver asks to wait: `Retry-After`, or Discord's `retry_after`. */
function retryAfterOf({ header, text, status }: Answered, nowMs: number): number | null {
  const value = header("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value)
    ? Number(value) * 1_000
    : Date.parse(value) - nowMs || (status === 429 ? discordMs(text) : NaN);
  return ms > 0 ? Math.min(Math.ceil(ms), RETRY_AFTER_MS_MAX) : null;
}

function discordMs(text: string): number {
  const seconds = /"retry_after"\s*:\s*(\d+(?:\.\d+)?)/.exec(text)?.[1];
  return seconds === undefined ? NaN : Number(seconds) * 1_000;
}
