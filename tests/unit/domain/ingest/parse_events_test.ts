/** The payloads of a batch are slices of its text, at any position. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { EVENT_BYTES_MAX } from "../../../../domain/core/limits.ts";
import { parseBody } from "../../../../domain/ingest/parse.ts";
import { parseEvents } from "../../../../domain/ingest/parse_events.ts";
import { anEvent } from "../../../support/builders/requests.ts";

function parse(text: string) {
  const body = parseBody(text);
  return parseEvents(body);
}

/** Returns the payloads kept from a valid batch. */
function payloadsOf(text: string): string[] {
  const parsed = parse(text);
  return parsed.request.map(({ data }) => data);
}

/** An event as text whose `data` member is written by hand. */
function eventText(n: number, member: string, fields: object = {}): string {
  const { data: _, ...rest } = anEvent(n, { type: "custom", ...fields });
  return `${JSON.stringify(rest).slice(0, -1)},${member}}`;
}

Deno.test("payloads: the key may be escaped, and similar keys are not confused with it", () => {
  const { data: _, ...rest } = anEvent(1, { type: "custom" });
  const before = JSON.stringify(rest).slice(0, -1);
  const members = [
    '"d\\u0061ta":{"a":1.0}',
    '"\\u0064\\u0061\\u0074\\u0061" : {"a":1.0} ',
    '"data":{"b":2},"d\\u0061ta":{"a":1.0}',
    '"data":{"a":1.0},"dat":1,"Data":2,"data ":3,"\\"data":4,"data\\"":5,"\\u0064ata2":6',
    '"x":{"data":{"b":2}},"data":{"a":1.0}',
  ];
  for (const member of members) {
    assertEquals(payloadsOf(`{"events":[${before},${member}}]}`), ['{"a":1.0}'], member);
    assertEquals(payloadsOf(`{"\\u0065vents":[${before},${member}}]}`), ['{"a":1.0}'], member);
  }
});

Deno.test("payloads: if the list of events is repeated, the last one and its sizes count", () => {
  const large = eventText(1, `"data":{"a":"${"x".repeat(EVENT_BYTES_MAX)}"}`);
  const [one, two] = [eventText(2, '"data":{"n":2.0}'), eventText(3, '"data":{"n":3.0}')];
  const other = '"more":{"events":[{"data":{}}]}';
  assertEquals(payloadsOf(`{"events":[${large}],${other},"events":[${one},${two}]}`), [
    '{"n":2.0}',
    '{"n":3.0}',
  ]);
  const [whole, cut] = payloadsOf(`{"events":[${one}],"events":[${two},${large}]}`);
  assertEquals([whole, cut?.slice(0, 17)], ['{"n":3.0}', '{"truncated":true']);
});

Deno.test("R7: an event's size is the UTF-8 size of its own text, to the byte", () => {
  const frame = new TextEncoder().encode(eventText(1, '"data":{"a":""}')).length;
  for (const [unit, bytes] of [["x", 1], ["é", 2], ["€", 3], ["😀", 4]] as const) {
    const count = Math.floor((EVENT_BYTES_MAX - frame) / bytes);
    const remainder = "x".repeat(EVENT_BYTES_MAX - frame - count * bytes);
    const fits = eventText(1, `"data":{"a":"${unit.repeat(count)}${remainder}"}`);
    const [kept] = payloadsOf(`{ "events" : [ ${fits} ] }`);
    assertEquals(kept?.length, unit.length * count + remainder.length + 8, unit);
    const over = parse(
      `{"events":[${eventText(0, '"data":{}')},${fits.replace('"a"', '"ab"')}]}`,
    );
    const { request, losses } = over;
    assertEquals(request.map(({ flags }) => flags), [undefined, ["truncated"]], unit);
    assertEquals(losses?.dropped, "data=1");
    const size = EVENT_BYTES_MAX - frame + 8 + 1;
    assert(request[1]?.data.startsWith(`{"truncated":true,"bytes":${size},`), request[1]?.data);
  }
});

Deno.test("payloads: every event keeps its own slice, with white space anywhere", () => {
  const space = fc.constantFrom("", " ", "\n\t", "\r\n ");
  const data = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
    .map((value) => JSON.stringify(value));
  const texts = fc.tuple(fc.array(data, { minLength: 1, maxLength: 8 }), space, space);
  fc.assert(fc.property(texts, ([payloads, a, b]) => {
    const events = payloads.map((text, n) => eventText(n, `${a}"data"${b}:${a}${text}${b}`));
    assertEquals(payloadsOf(`{${a}"events"${b}:${a}[${a}${events.join(`${b},${a}`)}${b}]}`), [
      ...payloads,
    ]);
  }));
});
