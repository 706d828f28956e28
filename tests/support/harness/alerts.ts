/** The real program, with a receiver of webhooks and chats and a mail server that it sends alerts to. */
import { assertEquals } from "@std/assert";
import { Webhook } from "standardwebhooks";
import { SENDER, SmtpSink } from "../fakes/smtp.ts";
import { answer, type ReceivedRequest, Receiver } from "../fakes/receiver.ts";
import { Process } from "./process.ts";

const KEY = `apk_eu_${"a1".repeat(16)}`;

/** A request with the time of its arrival, unix milliseconds. */
export interface Arrival extends ReceivedRequest {
  readonly atMs: number;
}

/** The incident of a webhook. */
export interface SentIncident {
  readonly id: string;
  readonly state: string;
  readonly [name: string]: unknown;
}

/** A webhook whose signature was verified. */
export interface VerifiedWebhook {
  readonly id: string;
  readonly atMs: number;
  readonly type: string;
  readonly incident: SentIncident;
}

/** Keeps the requests of one path of the receiver. */
class Inbox {
  readonly arrivals: Arrival[] = [];
  #waiting: (() => void)[] = [];

  add(arrival: Arrival): void {
    this.arrivals.push(arrival);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves with the requests when there are so many. */
  async until(count: number): Promise<readonly Arrival[]> {
    while (this.arrivals.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.arrivals;
  }
}

/** A world of alerts. Always `await using`. */
export class AlertWorld implements AsyncDisposable {
  readonly hook = new Inbox();
  readonly chat = new Inbox();
  process!: Process;
  #secret = "";
  readonly #folder: string;
  readonly #receiver: Receiver;

  private constructor(folder: string, readonly mail: SmtpSink) {
    this.#folder = folder;
    this.#receiver = new Receiver((connection, request) => {
      const inbox = request.path === "/chat" ? this.chat : this.hook;
      inbox.add({ ...request, atMs: Date.now() });
      return answer(200, {}, "ok")(connection, request);
    });
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

  /** Creates default channels. */
  async channels(...types: readonly ("webhook" | "slack" | "email")[]): Promise<void> {
    const url = (path: string) => `http://127.0.0.1:${this.#receiver.port}${path}`;
    const settings = {
      webhook: { url: url("/hook") },
      slack: { url: url("/chat") },
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
    return (await this.hook.until(count)).map(({ headers, body, atMs }) => {
      // Throws if the signature is wrong.
      const sent = verifier.verify(body, Object.fromEntries(headers)) as {
        readonly type: string;
        readonly data: { readonly incident: SentIncident };
      };
      const id = headers.get("webhook-id") ?? "";
      return { id, atMs, type: sent.type, incident: sent.data.incident };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
    await this.#receiver[Symbol.asyncDispose]();
    await this.mail[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}
