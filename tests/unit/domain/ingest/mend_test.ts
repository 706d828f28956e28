/** Invalid payload fields are repaired, and every loss is reported and flagged. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Losses } from "../../../../domain/core/losses.ts";
import { cutText } from "../../../../domain/core/text.ts";
import { parseBody } from "../../../../domain/ingest/parse.ts";
import { parseFinish } from "../../../../domain/ingest/finish.ts";
import { parseHeartbeat } from "../../../../domain/ingest/heartbeat.ts";
import { parseOpen } from "../../../../domain/ingest/open.ts";
import { aFinish, aHeartbeat, aRun } from "../../../support/builders/requests.ts";
import { anyText } from "../../../support/builders/any_text.ts";

const context = { metadataKeysMax: 10, sdkWords: false };

function bodyOf(sent: unknown) {
  return parseBody(typeof sent === "string" ? sent : JSON.stringify(sent));
}

function open(fields: object, header: string | null = null) {
  const parsed = parseOpen(bodyOf({ ...aRun(1), ...fields }), { ...context, traceparent: header });
  const { request, losses } = parsed;
  return { ...request, dropped: losses?.dropped ?? null, ignored: losses?.ignored ?? null };
}

function finish(fields: object) {
  const parsed = parseFinish(bodyOf({ ...aFinish(), ...fields }), context);
  return { ...parsed.request, dropped: parsed.losses?.dropped ?? null };
}

function heartbeat(fields: object) {
  const parsed = parseHeartbeat(bodyOf({ ...aHeartbeat(1), ...fields }), context, new Losses());
  return { ...parsed.request, dropped: parsed.losses?.dropped ?? null };
}

Deno.test("R7: a cut keeps the longest beginning that fits", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 40 }).map((sent) => sent.toWellFormed());
  fc.assert(fc.property(text, fc.integer({ min: 1, max: 30 }), (sent, max) => {
    assertEquals(cutText(sent, max), [...sent].slice(0, max).join(""));
  }));
});

Deno.test("R8: a number or a boolean label becomes its text, to the last digit", () => {
  const text = JSON.stringify(aRun(1)).replace(
    "{",
    '{"customer_id":12345678901234567890,"feature":1.0,',
  );
  const parsed = parseOpen(bodyOf(text), context);
  assertEquals(parsed.request.customerId, "12345678901234567890");
  assertEquals([parsed.request.feature, parsed.losses], ["1.0", null]);
  const { reported, customerId, feature } = heartbeat({
    model: 4,
    provider: false,
    customer_id: 7,
    feature: true,
  });
  assertEquals([reported.model, reported.provider, customerId, feature], [
    "4",
    "false",
    "7",
    "true",
  ]);
});

Deno.test("R24: a credential in the place of a name is not named", () => {
  const key = `apk_eu_${"a".repeat(32)}`;
  const losses = new Losses();
  losses.ignoreUnknown({ [key]: "", [`Bearer ${key}`]: "", "": "" }, new Set());
  assertEquals(losses.stored.ignored, ["(credential)", "Bearer?(credential)", "(empty)"]);
});

Deno.test("R11: of many unknown fields 10 are named, each shortened, and one entry counts the others", () => {
  const many = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, n) => [`${n}${"x".repeat(100)}`, n]),
  );
  const reported = open(many).ignored ?? "";
  assertEquals(reported.split(", ").length, 11);
  assert(reported.endsWith(", (other)") && reported.length < 450);
});

Deno.test("losses: labels that the plan does not keep are reported but not flagged", () => {
  const losses = new Losses();
  assert(losses.isEmpty);
  losses.drop("metadata", 0);
  assert(losses.isEmpty);
  losses.drop("metadata", 3);
  assertEquals([losses.dropped, losses.stored.flags, losses.isEmpty], [
    "metadata=3",
    undefined,
    false,
  ]);
  losses.cut("goal");
  losses.remove("turn");
  assertEquals(losses.dropped, "metadata=3, goal=1, turn=1");
  losses.ignoreUnknown({ statuss: 1 }, new Set());
  const flags = ["dropped_fields", "ignored_fields", "truncated"] as const;
  assertEquals(losses.stored, { flags, lost: ["goal", "turn"], ignored: ["statuss"] });
});

Deno.test("R1 to R9: open, finish and heartbeat are accepted with any payload fields", () => {
  const value = fc.oneof(
    fc.jsonValue(),
    anyText(),
    fc.constant("x".repeat(300)),
  );
  const names = [
    "customer_id",
    "feature",
    "goal",
    "parent_run_id",
    "idle_timeout_seconds",
    "idle_timeout_status",
    "output",
    "scores",
    "model",
    "provider",
  ];
  const fields = fc.dictionary(fc.constantFrom(...names), value);
  fc.assert(fc.property(fields, ({ model, provider, ...sent }) => {
    for (const request of [open(sent), finish(sent), heartbeat({ ...sent, model, provider })]) {
      assertEquals(
        JSON.stringify(request, (_, part) => typeof part === "bigint" ? `${part}` : part)
          .isWellFormed(),
        true,
      );
    }
  }));
});
