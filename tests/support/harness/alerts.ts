/** The real program, with receivers of webhooks and chats and a mail server that it sends alerts to. */
import { assertEquals } from "@std/assert";
import { Webhook } from "standardwebhooks";
import { SENDER, SmtpSink } from "../fakes/smtp.ts";
import { WebhookReceiver } from "../fakes/webhook_receiver.ts";
import { Process } from "./process.ts";

const KEY = `apk_eu_${"a1".repeat(16)}`;

interface SentIncident {
  readonly id: string;
  readonly state: string;
  readonly [name: string]: unknown;
}

interface VerifiedWebhook {
  readonly id: string;
  readonly atMs: number;
  readonly type: string;
  readonly incident: SentIncident;
}

/** A world of alerts. Always `await using`. */
export class AlertWorld implements AsyncDisposable {
  readonly hook = WebhookReceiver.start();
  readonly chat = WebhookReceiver.start();
  process!: Process;
  #secret = "";
  readonly #folder: string;

  private constructor(folder: string, readonly mail: SmtpSink) {
    this.#folder = folder;
  }

  static async start(): Promise<AlertWorld> {
    const folder = await Deno.makeTempDir({ prefix: "runledger-alerts-" });
    const world = new AlertWorld(folder, await SmtpSink.start());
    await world.startProcess();
    return world;
  }

  /** Starts the program on the same ledger. */
  async startProcess(): Promise<void> {
    this.process = await Process.start({
      RUNLEDGER_KV: `${this.#folder}/test.kv`,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_TIER: "enterprise",
      RUNLEDGER_SMTP_URL: this.mail.url,
      RUNLEDGER_SMTP_FROM: SENDER,
      RUNLEDGER_EGRESS: "127.0.0.0/8",
      RUNLEDGER_PUBLIC_URL: "https://ledger.example.org",
    });
  }

  /** Sends a request that must succeed; returns its JSON. */
  // deno-lint-ignore no-explicit-any -- tests read responses of any shape
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(this.process.url + path, {
      method,
      headers: { Authorization: `Bearer ${KEY}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assertEquals(response.ok, true, `${method} ${path}: ${response.status} ${text}`);
    return text.startsWith("{") ? JSON.parse(text) : text;
  }

  async channels(...types: readonly ("webhook" | "slack" | "email")[]): Promise<void> {
    const settings = {
      webhook: { url: this.hook.url },
      slack: { url: this.chat.url },
      email: { to: ["ops@example.org"] },
    };
    for (const type of types) {
      const body = { type, default: true, ...settings[type] };
      const { secret } = await this.call("PUT", `/v1/channels/${type}`, body);
      if (type === "webhook") this.#secret = secret;
    }
  }

  /** Ends a run of an agent. */
  async beat(agent: string, status: "ok" | "fail"): Promise<string> {
    return (await this.call("POST", "/v1/heartbeats", { agent, status })).id;
  }

  /** Resolves with the verified webhooks when there are so many. */
  async webhooks(count: number): Promise<VerifiedWebhook[]> {
    const verifier = new Webhook(this.#secret);
    await this.hook.until(({ length }) => length >= count);
    return this.hook.received.map(({ id, headers, body, at }) => {
      // Throws if the signature is wrong.
      const sent = verifier.verify(body, Object.fromEntries(headers)) as {
        readonly type: string;
        readonly data: { readonly incident: SentIncident };
      };
      return { id, atMs: at, type: sent.type, incident: sent.data.incident };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
    await this.hook[Symbol.asyncDispose]();
    await this.chat[Symbol.asyncDispose]();
    await this.mail[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}
