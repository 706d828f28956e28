/** The forms of messages: what they say, and what they let no stranger say. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { chatBody } from "../../../../../domain/channels/forms/chat.ts";
import { emailOf, isRecipient } from "../../../../../domain/channels/forms/email.ts";
import { pagerdutyBody } from "../../../../../domain/channels/forms/pagerduty.ts";
import {
  type FormContext,
  plainText,
  WEBHOOK_BYTES_MAX,
  webhookBody,
  wordsOf,
} from "../../../../../domain/channels/forms/words.ts";
import { durationOf } from "../../../../../domain/core/time.ts";
import { MESSAGE_EVENTS } from "../../../../../domain/channels/message.ts";
import type { TeamId } from "../../../../../domain/core/ids.ts";
import {
  aMessage,
  HOSTILE,
  LONG,
  messageOf,
  resolvedMessage,
  TEST_MESSAGE,
} from "../../../../support/builders/messages.ts";
import { anyText } from "../../../../support/builders/any_text.ts";

const PLAIN: FormContext = {
  team: { id: "team_1" as TeamId, name: "Ships" },
  publicUrl: null,
  includeError: true,
};
const LINKED: FormContext = { ...PLAIN, publicUrl: "https://ledger.example.org" };
const LINK = "https://ledger.example.org/dashboard/alerts/incidents/inc_eu_01";
const HOSTILE_CONTEXT: FormContext = { ...LINKED, team: { ...PLAIN.team, name: HOSTILE } };

Deno.test("words: what happened, since when and how many times; a link only with a public URL", () => {
  assertEquals(wordsOf(aMessage(), PLAIN), {
    headline: "nightly failed 3 times in a row: Connection to the database refused",
    facts: [
      "Severity: critical",
      "Since 2026-11-23 16:25 UTC, 3 times so far",
      "Latest run: run_eu_02",
      "Incident inc_eu_01",
    ],
    error: "Connection to the database refused",
    link: null,
  });
  assertEquals(wordsOf(aMessage(), LINKED).link, LINK);
  assertEquals(
    wordsOf(resolvedMessage(), PLAIN).headline,
    "Resolved: nightly failed 3 times in a row: Connection to the database refused",
  );
  assertEquals(wordsOf(resolvedMessage(), PLAIN).facts.slice(1, 3), [
    "From 2026-11-23 16:25 UTC to 2026-11-23 18:30 UTC (2 h 5 min), 3 times",
    "Ended because the condition is no longer true",
  ]);
  const acknowledged = { by: "cred_1", at: 0, note: "On it" };
  const facts = wordsOf(aMessage({ acknowledged }, "incident.acknowledged"), PLAIN).facts;
  assert(facts.includes("Note: On it"));
  for (const [countSince, text] of [[5, "5 times"], [1, "1 time"], [0, "Nothing new"]] as const) {
    const message = { ...aMessage({}, "incident.updated"), countSince };
    assertEquals(wordsOf(message, PLAIN).facts[2], `${text} since the last message`);
    assertEquals(JSON.parse(webhookBody(message, PLAIN)).data.incident.count_since, countSince);
  }
});

Deno.test("words: no form has the error of a run where the channel leaves it out", () => {
  const context = { ...LINKED, includeError: false };
  const message = aMessage({ error: "s3cret" });
  const { text, html } = emailOf([message], "whd_1", ["a@example.org"], context);
  const forms = [
    webhookBody(message, context),
    chatBody([message], context),
    pagerdutyBody(message, "whd_1", "k", context),
    `${text}${html}`,
  ];
  for (const form of forms) assert(!form.includes("s3cret"), form);
  assert(webhookBody(message, LINKED).includes("s3cret"));
});

Deno.test("words: durations have their two largest units", () => {
  const cases = [[0, "0 s"], [400, "0 s"], [59_000, "59 s"], [60_000, "1 min"], [
    61_000,
    "1 min 1 s",
  ]];
  const long = [[7_500_000, "2 h 5 min"], [86_400_000, "1 d"], [90_061_000, "1 d 1 h"], [
    -5,
    "0 s",
  ]];
  for (const [ms, text] of [...cases, ...long]) assertEquals(durationOf(Number(ms)), text);
});

Deno.test("webhook: the body is the documented one", () => {
  assertEquals(JSON.parse(webhookBody(resolvedMessage(), LINKED)), {
    type: "incident.resolved",
    timestamp: "2026-11-23T18:30:00.000Z",
    data: {
      incident: {
        id: "inc_eu_01",
        rule: "failures",
        kind: "run_failed",
        severity: "critical",
        state: "resolved",
        group: { agent: "nightly" },
        opened_at: "2026-11-23T16:25:00.000Z",
        resolved_at: "2026-11-23T18:30:00.000Z",
        resolved_by: "condition",
        duration_seconds: 7_500,
        count: 3,
        value: null,
        threshold: 3,
        message: "nightly failed 3 times in a row",
        error: "Connection to the database refused",
        run_ids: ["run_eu_02", "run_eu_01"],
        silenced: false,
        acknowledged: null,
        url: LINK,
      },
      team: { id: "team_1", name: "Ships" },
      test: false,
    },
  });
  const test = JSON.parse(webhookBody(TEST_MESSAGE, PLAIN));
  assertEquals([test.type, test.data.incident, test.data.test], ["channel.test", null, true]);
});

Deno.test("forms: texts of 100 KB and hostile ones stay within the limits of each receiver", () => {
  for (const text of [LONG, HOSTILE, HOSTILE.repeat(100), "\u0001".repeat(1e5), "<".repeat(1e5)]) {
    for (const event of MESSAGE_EVENTS) {
      const context = { ...LINKED, team: { ...PLAIN.team, name: text } };
      const message = messageOf(text, event);
      const bytes = new TextEncoder().encode(webhookBody(message, context)).length;
      assert(bytes <= WEBHOOK_BYTES_MAX, `${bytes} bytes`);
      const page = JSON.parse(pagerdutyBody(message, "whd_1", "k", context));
      assert(page.payload.summary.length <= 1_024 && page.dedup_key.length <= 255);
      const mail = emailOf(Array(20).fill(message), "whd_1", ["a@example.org"], context);
      assert(mail.subject.length <= 250, mail.subject);
      for (const number of [1, 10, 20]) {
        const chat = JSON.parse(chatBody(Array(number).fill(message), context));
        const sizes = chat.attachments.map((one: { title: string; text: string }) =>
          one.title.length + one.text.length
        );
        const total = sizes.reduce((sum: number, size: number) => sum + size, 0);
        assert(chat.attachments.length <= 10 && total <= 6_000, `${total} characters`);
        assert(chat.text.length <= 2_000, `${chat.text.length} characters`);
      }
    }
  }
});

Deno.test("forms: no text makes a form fail, too long or not well formed", () => {
  const texts = anyText({ maxLength: 400 });
  fc.assert(fc.property(texts, texts, fc.constantFrom(...MESSAGE_EVENTS), (text, name, event) => {
    const context = { ...LINKED, team: { ...PLAIN.team, name } };
    const message = messageOf(text, event);
    const mail = emailOf([message, message], "whd_1", ["a@example.org"], context);
    const forms = [
      webhookBody(message, context),
      chatBody([message], context),
      pagerdutyBody(message, "whd_1", "k", context),
      mail.subject,
      mail.text,
      mail.html ?? "",
    ];
    return forms.every((form) => form.length < WEBHOOK_BYTES_MAX && form.isWellFormed()) &&
      !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(mail.subject);
  }));
});

Deno.test("chat: one attachment for each message; further ones have a line", () => {
  const one = JSON.parse(chatBody([aMessage()], LINKED));
  assertEquals(one.text, "nightly failed 3 times in a row: Connection to the database refused");
  assertEquals(one.attachments[0].title_link, LINK);
  assertStringIncludes(one.attachments[0].text, "Error: Connection to the database refused");
  assertEquals("title_link" in JSON.parse(chatBody([aMessage()], PLAIN)).attachments[0], false);
  const messages = Array.from(
    { length: 12 },
    (_, index) => aMessage({ title: `number ${index}`, error: null }),
  );
  const many = JSON.parse(chatBody(messages, PLAIN));
  assertEquals(many.text, "Runledger: 12 messages\nnumber 10\nnumber 11");
  assertEquals(many.attachments.map(({ title }: { title: string }) => title).at(-1), "number 9");
  const colors = [aMessage(), resolvedMessage()].map((message) =>
    JSON.parse(chatBody([message], PLAIN)).attachments[0].color
  );
  assert(colors[0] !== colors[1]);
});

Deno.test("chat: hostile text mentions nobody and has no link, picture or control character", () => {
  const body = chatBody([messageOf(HOSTILE, "incident.acknowledged")], HOSTILE_CONTEXT);
  const { text, attachments: [only] } = JSON.parse(body);
  for (const part of [text, only.text, only.fallback]) {
    assert(!/[<>]|&(?!amp;|lt;|gt;)/.test(part), part);
    assert(!/@[^\u2060]/.test(part), "a mention");
    assert(!/\][[(:]/.test(part), "a link");
    assert(!/[\p{Cc}\u202E\u200B\u2028]/u.test(part.replaceAll("\n", "")), "a control character");
    assert(part.isWellFormed());
  }
  // Line breaks are the form's own.
  assert(only.text.split("\n").every((line: string) => !line.startsWith("Bcc")));
});

Deno.test("pagerduty: one alert for an incident, from its opening to its end", () => {
  const body = (event: typeof MESSAGE_EVENTS[number]) =>
    JSON.parse(pagerdutyBody(aMessage({}, event), "whd_1", "key", LINKED));
  const actions = MESSAGE_EVENTS.slice(0, 4).map((event) => body(event).event_action);
  assertEquals(actions, ["trigger", "trigger", "acknowledge", "resolve"]);
  const opened = body("incident.opened");
  assertEquals([opened.dedup_key, opened.routing_key], ["inc_eu_01", "key"]);
  assertEquals([opened.payload.severity, opened.payload.component], ["critical", "nightly"]);
  assertEquals([opened.client_url, opened.links[0].href], [LINK, LINK]);
  const test = JSON.parse(pagerdutyBody(TEST_MESSAGE, "whd_1", "key", PLAIN));
  assertEquals([test.dedup_key, test.payload.severity, test.links], ["whd_1", "info", undefined]);
});

Deno.test("e-mail: one thread for an incident, text and HTML, one line of subject", () => {
  const to = ["a@example.org", "b@example.org"];
  const mail = emailOf([aMessage(), aMessage({ id: "inc_eu_02" })], "whd_1", to, LINKED);
  assertEquals(mail.messageId, "whd_1@runledger");
  assertEquals(mail.references, ["inc_eu_01@runledger", "inc_eu_02@runledger"]);
  assertEquals(
    mail.subject,
    "[Runledger] critical: nightly failed 3 times in a row: Connection to the database refused " +
      "and 1 more",
  );
  assertStringIncludes(mail.text, LINK);
  assertStringIncludes(mail.html ?? "", `<a href="${LINK}">nightly failed`);
  const resolved = emailOf([resolvedMessage()], "whd_2", to, PLAIN);
  assertEquals(
    resolved.subject,
    "[Runledger] Resolved: nightly failed 3 times in a row: Connection to the database refused",
  );
  const hostile = emailOf([messageOf(HOSTILE)], "whd_3", to, HOSTILE_CONTEXT);
  assert(!/[\p{Cc}\u2028\u202E]/u.test(hostile.subject), hostile.subject);
  const html = hostile.html ?? "";
  assert(!/<b>|<!channel|<@U1/.test(html) && !html.includes("\u202E"), html);
});

Deno.test("e-mail: a recipient is one address without syntax", () => {
  for (const address of ["a@example.org", "ü.x+y@exämple.org"]) assert(isRecipient(address));
  const wrong = [
    "a@example.org\r\nRCPT TO:<b@example.org>",
    "a@example.org,b@example.org",
    "A <a@example.org>",
    "a@b@example.org",
    "a",
    "a b@example.org",
    "a\u202E@example.org",
    `${"a".repeat(255)}@example.org`,
  ];
  for (const address of wrong) assert(!isRecipient(address), address);
});

Deno.test("words: a plain text is one line, well formed and cut at a character", () => {
  assertEquals(plainText("a\r\n\tb\u0000\u202Ec", 10), "a b c");
  assertEquals(plainText("😀".repeat(10), 3), "😀😀…");
  assertEquals(plainText("\uD800x", 9), "\uFFFDx");
  assert(plainText(HOSTILE, 1_000).isWellFormed());
});
