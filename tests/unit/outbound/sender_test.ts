/** Messages to real receivers: verdicts, signatures, and what the log keeps of an answer. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Webhook } from "standardwebhooks";
import type { OpenedChannelSettings } from "../../../domain/channels/channel.ts";
import type { Message } from "../../../domain/channels/message.ts";
import { SEND_MS_MAX, type SendResult } from "../../../domain/channels/sender.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { type Mailer, NO_MAIL_SERVER } from "../../../domain/core/mail.ts";
import { type Egress, parseEgress } from "../../../outbound/http.ts";
import { createMailer } from "../../../outbound/mail.ts";
import { createSender, resultOf } from "../../../outbound/sender.ts";
import { answer, Receiver, SILENT } from "../../support/fakes/receiver.ts";
import { SENDER, SmtpSink } from "../../support/fakes/smtp.ts";
import { aMessage, HOSTILE, messageOf, resolvedMessage } from "../../support/builders/messages.ts";

const NEVER = new AbortController().signal;
const ID = "whd_eu_1";
const SECRET = `whsec_${new Uint8Array(32).fill(7).toBase64()}`;
const OLD_SECRET = `whsec_${new Uint8Array(24).fill(9).toBase64()}`;
const COMMON = { isDefault: true, includeError: true, enabled: true };

type Webhooks = Extract<OpenedChannelSettings, { type: "webhook" }>;

function webhook(url: string, changes: Partial<Webhooks> = {}): Webhooks {
  return {
    ...COMMON,
    type: "webhook",
    url,
    host: "h",
    secret: SECRET,
    previous: null,
    events: ["incident.*"],
    headers: {},
    ...changes,
  };
}

function chat(url: string, type: "slack" | "mattermost" = "slack"): OpenedChannelSettings {
  return { ...COMMON, type, url, host: "h" };
}

const PAGER = { ...COMMON, type: "pagerduty", routingKey: "key", region: "eu" } as const;

interface Options {
  readonly egress?: Egress | null;
  readonly mailer?: Mailer;
  readonly messages?: readonly Message[];
  readonly pagerdutyUrl?: string;
  readonly sendMsMax?: number;
  readonly nowMs?: number;
  readonly signal?: AbortSignal;
}

function send(settings: OpenedChannelSettings, options: Options = {}): Promise<SendResult> {
  const { egress = parseEgress("127.0.0.0/8"), mailer = null, pagerdutyUrl = "" } = options;
  assert(egress !== null);
  const sender = createSender({
    egress,
    resolve: () => Promise.resolve(["127.0.0.1"]),
    mailer,
    publicUrl: "https://ledger.example.org",
    pagerdutyUrls: { us: "", eu: pagerdutyUrl },
    ...(options.sendMsMax === undefined ? {} : { sendMsMax: options.sendMsMax }),
  });
  const team = { id: "team_1" as TeamId, name: "Ships" };
  const { messages = [aMessage()], nowMs = Date.now(), signal = NEVER } = options;
  return sender.send({ team, settings, id: ID, messages }, nowMs, signal);
}

Deno.test("sender: a webhook is verified by the standard's package, with one secret or two", async () => {
  await using receiver = new Receiver();
  const hostile = messageOf(HOSTILE);
  for (const message of [aMessage(), resolvedMessage(), hostile]) {
    const result = await send(webhook(receiver.url, { headers: { "x-own": "1" } }), {
      messages: [message],
    });
    assertEquals([result.verdict, result.status, result.error], ["delivered", 200, null]);
    const { headers, body } = receiver.requests.at(-1)!;
    new Webhook(SECRET).verify(body, Object.fromEntries(headers));
    assertEquals(headers.get("webhook-id"), ID);
    assertEquals([headers.get("x-own"), headers.get("user-agent")], ["1", "Runledger/1"]);
  }
  const previous = { secret: OLD_SECRET, untilMs: Date.now() + 60_000 };
  await send(webhook(receiver.url, { previous }));
  const rotated = receiver.requests.at(-1)!;
  for (const secret of [SECRET, OLD_SECRET]) {
    new Webhook(secret).verify(rotated.body, Object.fromEntries(rotated.headers));
  }
  await send(webhook(receiver.url, { previous: { secret: OLD_SECRET, untilMs: Date.now() - 1 } }));
  assertEquals(receiver.requests.at(-1)!.headers.get("webhook-signature")?.split(" ").length, 1);
});

Deno.test("sender: a repeat has the same id and body, and the time of its try", async () => {
  await using receiver = new Receiver(answer(500));
  const nowMs = Date.UTC(2026, 10, 23, 17);
  await send(webhook(receiver.url), { nowMs });
  await send(webhook(receiver.url), { nowMs: nowMs + 5_000 });
  const [first, second] = receiver.requests;
  assertEquals(first?.body, second?.body);
  const times = [first, second].map((request) => request?.headers.get("webhook-timestamp"));
  assertEquals(times, [String(nowMs / 1_000), String(nowMs / 1_000 + 5)]);
});

Deno.test("sender: no own header replaces one of the signature", async () => {
  await using receiver = new Receiver();
  const headers = { "webhook-signature": "v1,x", "content-type": "text/plain", host: "evil" };
  await send(webhook(receiver.url, { headers }));
  const [request] = receiver.requests;
  new Webhook(SECRET).verify(request!.body, Object.fromEntries(request!.headers));
  assertEquals(request!.headers.get("content-type"), "application/json");
  assertEquals(request!.headers.get("host"), `127.0.0.1:${receiver.port}`);
});

/** Verdicts of decision 86: webhook, chat, PagerDuty. */
const VERDICTS: Record<number, readonly [string, string, string]> = {
  200: ["delivered", "delivered", "retry"],
  202: ["delivered", "delivered", "delivered"],
  204: ["delivered", "delivered", "retry"],
  301: ["retry", "retry", "retry"],
  304: ["retry", "retry", "retry"],
  308: ["retry", "retry", "retry"],
  400: ["retry", "gone", "final"],
  401: ["retry", "gone", "final"],
  403: ["retry", "gone", "final"],
  404: ["retry", "gone", "retry"],
  408: ["retry", "retry", "retry"],
  410: ["gone", "gone", "gone"],
  418: ["retry", "retry", "retry"],
  425: ["retry", "retry", "retry"],
  429: ["retry", "retry", "retry"],
  500: ["retry", "retry", "retry"],
  503: ["retry", "retry", "retry"],
};

Deno.test("sender: each status has its verdict, by type of channel", async () => {
  await using receiver = new Receiver();
  const pagerdutyUrl = receiver.url;
  for (const [status, expected] of Object.entries(VERDICTS)) {
    receiver.behavior = answer(Number(status), { location: "http://127.0.0.1:9/" });
    const results = [
      await send(webhook(receiver.url)),
      await send(chat(receiver.url)),
      await send(PAGER, { pagerdutyUrl }),
    ];
    assertEquals(results.map(({ verdict }) => verdict), [...expected], status);
    for (const { error, verdict, status: seen } of results) {
      assertEquals([error === null, seen], [verdict === "delivered", Number(status)]);
    }
  }
  receiver.behavior = answer(500, { "webhook-delivery": "abort-message" });
  assertEquals((await send(webhook(receiver.url))).verdict, "final");
  receiver.behavior = answer(204, { "webhook-delivery": "abort-message" });
  assertEquals((await send(webhook(receiver.url))).verdict, "delivered");
});

Deno.test("sender: a receiver can ask to wait, up to an hour", async () => {
  await using receiver = new Receiver();
  const nowMs = Date.UTC(2026, 10, 23, 17);
  const cases: [number, Record<string, string>, string, number | null][] = [
    [429, {}, "", null],
    [429, { "retry-after": "7" }, "", 7_000],
    [503, { "retry-after": "120" }, "", 120_000],
    [503, { "retry-after": "999999999" }, "", 3_600_000],
    [500, { "retry-after": "Mon, 23 Nov 2026 17:00:30 GMT" }, "", 30_000],
    [500, { "retry-after": "Mon, 23 Nov 2026 16:00:00 GMT" }, "", null],
    [500, { "retry-after": "-5" }, "", null],
    [500, { "retry-after": "soon" }, "", null],
    [429, {}, '{"message":"x","retry_after":0.65,"global":false}', 650],
    [429, { "retry-after": "1" }, '{"retry_after": 9}', 1_000],
    [200, { "retry-after": "7" }, "", null],
  ];
  for (const [status, headers, body, expected] of cases) {
    receiver.behavior = answer(status, headers, body);
    const { retryAfterMs } = await send(chat(receiver.url), { nowMs });
    assertEquals(retryAfterMs, expected, JSON.stringify([headers, body]));
  }
});

Deno.test("sender: an answer is kept from public addresses alone, short and printable", async () => {
  const text = `no\r\n\u0000${"x".repeat(1_000)}`;
  await using receiver = new Receiver(answer(500, {}, text));
  assertEquals((await send(webhook(receiver.url))).answer, null);
  assertEquals((await send(webhook("http://127.0.0.1:1/"))).answer, null);
  const outcome = { kind: "answered", status: 500, header: () => null, text } as const;
  const kept = (isPublic: boolean) => resultOf("webhook", { ...outcome, isPublic }, 0).answer;
  assertEquals([kept(true), kept(false)], [`no   ${"x".repeat(251)}`, null]);
});

Deno.test("sender: what is refused, silent or unreachable is tried again", async () => {
  await using receiver = new Receiver(SILENT);
  const startedMs = performance.now();
  const late = await send(webhook(receiver.url), { sendMsMax: 200 });
  const tookMs = performance.now() - startedMs;
  assertEquals([late.verdict, late.status, late.error], [
    "retry",
    null,
    "No answer within the time limit",
  ]);
  assert(tookMs >= 190 && tookMs < SEND_MS_MAX / 2, `${tookMs} ms`);
  const refused = await send(webhook(receiver.url), { egress: parseEgress("public") });
  assertEquals(refused.verdict, "retry");
  assertStringIncludes(refused.error ?? "", "Refused by RUNLEDGER_EGRESS: ");
  const aborted = AbortSignal.abort();
  assertEquals((await send(webhook(receiver.url), { signal: aborted })).verdict, "retry");
  assertEquals(receiver.connections, 1);
});

Deno.test("sender: settings that cannot be sent end the delivery, and no error shows a secret", async () => {
  await using receiver = new Receiver();
  const wrong = [
    webhook(receiver.url, { secret: "whsec_s3cret!" }),
    webhook(receiver.url, { headers: { "x-a": "s3cret\r\nx-b: c" } }),
  ];
  for (const settings of wrong) {
    const { verdict, error } = await send(settings);
    assertEquals(verdict, "final");
    assert(!error?.includes("s3cret"), error ?? "");
  }
  assertEquals(receiver.connections, 0);
});

Deno.test("sender: chat gets all messages in one request, PagerDuty its event", async () => {
  await using receiver = new Receiver(answer(202));
  const messages = Array.from({ length: 20 }, (_, index) => aMessage({ id: `inc_eu_${index}` }));
  for (const type of ["slack", "mattermost"] as const) {
    await send(chat(receiver.url, type), { messages });
    assertEquals(JSON.parse(receiver.requests.at(-1)!.body).attachments.length, 10);
  }
  await send(PAGER, { pagerdutyUrl: receiver.url, messages: [resolvedMessage()] });
  const page = JSON.parse(receiver.requests.at(-1)!.body);
  assertEquals([page.event_action, page.dedup_key, page.routing_key], [
    "resolve",
    "inc_eu_01",
    "key",
  ]);
  assertEquals(receiver.connections, 3);
});

const TO = ["a@example.org", "b@example.org"];

Deno.test("sender: an e-mail has text and HTML, all recipients, and the thread of its incident", async () => {
  await using sink = await SmtpSink.start();
  const mailer = createMailer(sink.url, SENDER);
  const settings = { ...COMMON, type: "email", to: TO } as const;
  const result = await send(settings, { mailer });
  assertEquals([result.verdict, result.status, result.error], ["delivered", 250, null]);
  await send(settings, { mailer, messages: [messageOf(HOSTILE)] });
  const [first, hostile] = sink.received;
  assertEquals([first?.to, first?.messageId], [TO, `<${ID}@runledger>`]);
  // Never a recipient (R28).
  assertEquals([first?.from, first?.fromHeader], [SENDER, SENDER]);
  assertEquals([first?.references, first?.inReplyTo], [
    "<inc_eu_01@runledger>",
    "<inc_eu_01@runledger>",
  ]);
  assertStringIncludes(first?.text ?? "", "https://ledger.example.org/dashboard/alerts/incidents/");
  assertStringIncludes(first?.html ?? "", "nightly failed 3 times");
  assertEquals(hostile?.to, TO);
  assert(!/[\p{Cc}]/u.test(hostile?.subject ?? "\n"));
});

Deno.test("sender: a recipient that the mail server refuses does not keep the e-mail from others", async () => {
  await using sink = await SmtpSink.start();
  const mailer = createMailer(sink.url, SENDER);
  const settings = { ...COMMON, type: "email", to: [...TO, "gone@example.org"] } as const;
  const result = await send(settings, { mailer });
  assertEquals([result.verdict, result.error], ["delivered", "1 of 3 recipients were refused"]);
  assertEquals(sink.received.map(({ to }) => to), [TO]);
  const injected = { ...settings, to: ["a@example.org\r\nRCPT TO:<x@evil.example>"] };
  assertEquals((await send(injected, { mailer })).verdict, "final");
  assertEquals(sink.connections, 1);
});

for (const behaviour of ["die after text", "silent text"] as const) {
  Deno.test(`sender: an e-mail is repeated with its id after a mail server with ${behaviour}`, async () => {
    await using sink = await SmtpSink.start();
    const mailer = createMailer(sink.url, SENDER);
    const settings = { ...COMMON, type: "email", to: TO } as const;
    sink.behaviour = behaviour;
    const limit = new AbortController();
    const sending = send(settings, { mailer, signal: limit.signal });
    await sink.until(({ received }) => received.length === 1);
    limit.abort();
    const first = await sending;
    assertEquals([first.verdict, first.error], [
      "retry",
      "The mail server got the message and did not answer",
    ]);
    sink.behaviour = "accept";
    assertEquals((await send(settings, { mailer })).verdict, "delivered");
    const ids = new Set(sink.received.map(({ messageId }) => messageId));
    assertEquals([sink.received.length, ids.size], [2, 1]);
  });
}

Deno.test("sender: a mail server's refusal is shown, its address is not", async () => {
  await using sink = await SmtpSink.start();
  const settings = { ...COMMON, type: "email", to: TO } as const;
  sink.behaviour = "refuse text";
  const refused = await send(settings, { mailer: createMailer(sink.url, SENDER) });
  assertEquals([refused.verdict, refused.status], ["retry", 450]);
  assertStringIncludes(refused.error ?? "", "Not today");
  const foreign = await send(settings, { mailer: createMailer(sink.url, "other@example.net") });
  assertEquals(foreign.verdict, "retry");
  assertStringIncludes(foreign.error ?? "", "No mail from other@example.net");
  const unreachable = await send(settings, { mailer: createMailer("smtp://127.0.0.1:1", SENDER) });
  assertEquals([unreachable.verdict, unreachable.status], ["retry", null]);
  assert(!unreachable.error?.includes("127"), unreachable.error ?? "");
  const { verdict, error } = await send(settings);
  assertEquals([verdict, error], ["retry", NO_MAIL_SERVER]);
});
