/**
 * Sends email by SMTP.
 *
 * It uses nodemailer's connection rather than its transport, because the caller must record the
 * send before any text leaves. The connection reads the text only once the server is ready for it.
 *
 * @module
 */
import { Readable } from "node:stream";
import { promisify } from "node:util";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { isLoopback } from "../domain/core/network.ts";
import { NOTICE_SEND_MS_MAX } from "../domain/teams/quota.ts";
import type { Mail, Mailer, SendOutcome } from "../domain/core/mail.ts";
import { unlessAborted } from "./http.ts";

/** Maximum milliseconds a mail server may be silent. */
const SILENCE_MS_MAX = 10_000;

/** Maximum milliseconds to close the session after the server has accepted the message. */
const GOODBYE_MS_MAX = 500;

/** Client name sent to mail servers. The machine's own name would need another permission. */
const CLIENT_NAME = "[127.0.0.1]";

/** A mail server that accepts email for delivery. */
interface MailServer {
  readonly host: string;
  readonly port: number;
  /** True for implicit TLS; otherwise STARTTLS is used if the server offers it. */
  readonly secure: boolean;
  readonly login: { readonly user: string; readonly pass: string } | null;
}

/** Parses `smtp://[user:password@]host[:port]` or `smtps://`; returns null for any other text. */
export function parseMailServer(text: string): MailServer | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const secure = url.protocol === "smtps:";
  const { hostname, username, password, pathname, search, hash } = url;
  const plain = /^\/?$/.test(pathname) && search === "" && hash === "" && hostname !== "";
  if (!plain || (!secure && url.protocol !== "smtp:")) return null;
  try {
    return {
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
      secure,
      login: username === ""
        ? null
        : { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    };
  } catch {
    return null;
  }
}

/**
 * Creates a mailer.
 *
 * @param url validated URL of the mail server
 * @param from address of the sender of each email
 * @param sendMsMax maximum milliseconds of one attempt
 */
export function createMailer(url: string, from: string, sendMsMax = NOTICE_SEND_MS_MAX): Mailer {
  const server = parseMailServer(url);
  if (server === null) throw new TypeError("Not a mail server URL");
  return {
    send: (mail, onHandOver, signal) =>
      send({ ...server, from }, mail, onHandOver, sendMsMax, signal),
  };
}

async function send(
  server: MailServer & { readonly from: string },
  mail: Mail,
  onHandOver: () => Promise<void>,
  msMax: number,
  signal: AbortSignal,
): Promise<SendOutcome> {
  let isHandedOver = false;
  const connection = connect(server);
  // One overall limit: a server that sends a byte now and then is never silent.
  const limit = AbortSignal.any([signal, AbortSignal.timeout(msMax)]);
  try {
    const { from } = server;
    const text = await messageText(from, mail);
    const message = Readable.from(once(text, async () => {
      await onHandOver();
      isHandedOver = true;
    }));
    const sent = transfer(connection, server, from, mail.to, message);
    const refused = await unlessAborted(
      limit,
      sent,
      () => new Error("The mail server took too long"),
    );
    await unlessAborted(AbortSignal.timeout(GOODBYE_MS_MAX), leave(connection)).catch(() => {});
    return { kind: "sent", ...(refused > 0 ? { refused } : {}) };
  } catch (error) {
    // A refusal means the server has not accepted the message.
    const failed = !isHandedOver || isRefusal(error);
    const status = (error as SmtpError).responseCode;
    return {
      kind: failed ? "failed" : "unknown",
      error: reasonOf(error),
      ...(status === undefined ? {} : { status }),
    };
  } finally {
    connection.close();
  }
}

/** Yields a text in one chunk, after running `before` when the reader first asks for it. */
async function* once(text: Uint8Array, before: () => Promise<void>): AsyncGenerator<Uint8Array> {
  await before();
  yield text;
}

function connect({ host, port, secure, login }: MailServer): SMTPConnection {
  const connection = new SMTPConnection({
    host,
    port,
    secure,
    // Otherwise an attacker who strips the STARTTLS offer would receive the password.
    requireTLS: login !== null && !isLoopback(host),
    name: CLIENT_NAME,
    connectionTimeout: SILENCE_MS_MAX,
    greetingTimeout: SILENCE_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    socketCloseTimeout: 0,
  });
  // `transfer` reports errors while it waits; later errors have no listener.
  connection.on("error", () => {});
  return connection;
}

/**
 * Transfers a message until the server has accepted it for at least one recipient. Returns how many
 * recipients it refused.
 */
async function transfer(
  connection: SMTPConnection,
  { login }: MailServer,
  from: string,
  to: readonly string[],
  message: Readable,
): Promise<number> {
  const lost = new Promise<never>((_, reject) => connection.on("error", reject));
  const done = (async () => {
    await promisify(connection.connect).call(connection);
    if (login !== null) await promisify(connection.login).call(connection, { credentials: login });
    const envelope = { from, to: [...to] };
    const info = await promisify(connection.send).call(connection, envelope, message);
    return info?.rejected.length ?? 0;
  })();
  return await Promise.race([done, lost]);
}

async function leave(connection: SMTPConnection): Promise<void> {
  const end = new Promise<void>((resolve) => connection.once("end", resolve));
  connection.quit();
  await end;
}

function messageText(from: string, mail: Mail): Promise<Uint8Array> {
  const { to, subject, text, html, messageId, references = [] } = mail;
  const threads = references.map((id) => `<${id}>`);
  const message = new MailComposer({
    from: { name: "Runledger", address: from },
    to: [...to],
    subject,
    text,
    ...(html === undefined ? {} : { html }),
    messageId: `<${messageId}>`,
    references: threads,
    // A reply to several messages belongs to the thread of the first one.
    ...(threads[0] === undefined ? {} : { inReplyTo: threads[0] }),
    // Prevents automatic replies (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return message.compile().build();
}

/** Fields nodemailer adds to its errors. */
interface SmtpError extends Error {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
}

function isRefusal(error: unknown): boolean {
  return ((error as SmtpError).responseCode ?? 0) >= 400;
}

/**
 * Returns why an attempt failed. For a failed login, it omits the server's message, which may
 * repeat the credentials.
 */
function reasonOf(error: unknown): string {
  const { code, command, responseCode, message } = error as SmtpError;
  const text = command?.startsWith("AUTH") || code === "EAUTH" ? "The login failed" : message;
  return [text.slice(0, 300), code, responseCode].filter((field) => field !== undefined).join(", ");
}
