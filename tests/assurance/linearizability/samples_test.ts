/**
 * Tests the checker on sample histories: it accepts each correct one, and names the anomaly of each
 * wrong one.
 */
import { assertEquals, assertMatch } from "@std/assert";
import type { Operation } from "./calls.ts";
import { explain } from "./explain.ts";
import {
  AGAIN,
  appended,
  BATCH,
  BEAT,
  BEATEN,
  END,
  FINISH,
  FINISHED,
  FIRST,
  FLAWED,
  last,
  op,
  OPEN,
  OTHER,
  READ,
  read,
  REPEAT,
  UNKNOWN,
} from "./samples.ts";

const ALL = { opening: OPEN, closing: FINISH, 1: BATCH, 2: BATCH };
const OPENED = op(OPEN, 0, 10, FIRST);
const CLOSED = op(FINISH, 20, 30, FINISHED);
const APPENDED = op(BATCH, 40, 50, appended(2));
const READ_ALL = last(ALL);

const RIGHT: Record<string, Operation[]> = {
  "only a read that finds nothing": [read(0, 1, {})],
  "one call after the other": [OPENED, CLOSED, APPENDED, read(60, 61, ALL), READ_ALL],
  "parts in any order": [
    op(BATCH, 0, 1, appended(2)),
    op(FINISH, 2, 3, FINISHED),
    op(OPEN, 4, 5, FIRST),
    READ_ALL,
  ],
  "a replay whose response precedes that of the first write": [
    op(OPEN, 0, 10, FIRST),
    op(OPEN, 1, 3, AGAIN),
    last({ opening: OPEN }),
  ],
  "a read that finds an unacknowledged write, and one that does not": [
    op(OPEN, 0, 10, FIRST),
    read(1, 9, {}),
    read(1, 9, { opening: OPEN }),
    last({ opening: OPEN }),
  ],
  "a call in doubt that took effect later": [
    op(OPEN, 0, 5, UNKNOWN),
    read(10, 20, {}),
    read(30, 40, { opening: OPEN }),
    op(OPEN, 50, 60, AGAIN),
    last({ opening: OPEN }),
  ],
  "a call in doubt that never took effect": [
    op(OPEN, 0, 5, UNKNOWN),
    op(FINISH, 6, 7, FINISHED),
    last({ closing: FINISH }),
  ],
  "a conflict with a real difference": [
    OPENED,
    op(OTHER, 20, 30, { kind: "conflict", field: "agent" }),
    last({ opening: OPEN }),
  ],
  "a heartbeat that closes what another opened": [
    OPENED,
    op(BEAT, 20, 30, BEATEN),
    last({ opening: OPEN, closing: BEAT }),
  ],
};

for (const [what, history] of Object.entries(RIGHT)) {
  Deno.test(`histories: the checker explains ${what}`, () => assertEquals(explain(history), null));
}

/** Anomalies: the history, the expected reason, and the calls involved. */
const WRONG: Record<string, [history: Operation[], why: RegExp, calls: number[]]> = {
  "two calls that both stored the close": [
    [
      CLOSED,
      op(END, 21, 29, { kind: "first", reported: { status: "failed", closedBy: FINISH } }),
      last({ closing: FINISH }),
    ],
    /stored the closing, but at the end it belongs to call 1/,
    [END, FINISH, READ],
  ],
  "one call that stored the opening twice": [
    [OPENED, op(OPEN, 5, 15, FIRST), last({ opening: OPEN })],
    /accepted twice/,
    [OPEN, OPEN],
  ],
  "a batch that was stored twice": [
    [APPENDED, op(BATCH, 45, 55, appended(2)), last({ 1: BATCH, 2: BATCH })],
    /accepted twice/,
    [BATCH, BATCH],
  ],
  "an acknowledged opening that is lost": [
    [OPENED, last({})],
    /stored the opening, but at the end there is none/,
    [OPEN, READ],
  ],
  "an acknowledged event that is lost": [
    [APPENDED, last({ 1: BATCH })],
    /2 events are stored, but 1/,
    [BATCH, READ],
  ],
  "a duplicate of an event that is not there": [
    [op(REPEAT, 0, 1, appended(0, 1)), last({})],
    /which does not exist at the end/,
    [REPEAT, READ],
  ],
  "events that are not all counted": [
    [op(BATCH, 0, 1, appended(1, 0)), last({ 1: BATCH })],
    /did not count all/,
    [BATCH, READ],
  ],
  "a replay before the write began": [
    [
      op(FINISH, 0, 10, { ...FINISHED, kind: "again" }),
      CLOSED,
      last({ closing: FINISH }),
    ],
    /call 1 comes before call 1, which had ended/,
    [FINISH, FINISH],
  ],
  "a replay of a write that never happened": [
    [op(OPEN, 0, 10, AGAIN), last({ opening: OPEN })],
    /was never accepted/,
    [OPEN, READ],
  ],
  "a conflict without a difference": [
    [
      OPENED,
      op(OPEN, 20, 30, { kind: "conflict", field: "agent" }),
      last({ opening: OPEN }),
    ],
    /agent differs, but nothing does/,
    [OPEN, OPEN, READ],
  ],
  "a conflict that names the wrong field": [
    [
      OPENED,
      op(OTHER, 20, 30, { kind: "conflict", field: "started_at" }),
      last({ opening: OPEN }),
    ],
    /started_at differs, but agent does/,
    [OTHER, OPEN, READ],
  ],
  "a conflict before there was an opening": [
    [
      op(OTHER, 0, 1, { kind: "conflict", field: "agent" }),
      op(OPEN, 5, 6, FIRST),
      last({ opening: OPEN }),
    ],
    /call 0 comes before call 4, which had ended/,
    [OPEN, OTHER],
  ],
  "a replay despite a difference": [
    [OPENED, op(OTHER, 20, 30, AGAIN), last({ opening: OPEN })],
    /accepted although its agent differs/,
    [OTHER, OPEN, READ],
  ],
  "something visible after a 400": [
    [op(FLAWED, 0, 1, { kind: "refused" }), last({ 3: FLAWED })],
    /was never accepted/,
    [FLAWED, READ],
  ],
  "something visible after a 409": [
    [
      OPENED,
      op(OTHER, 20, 30, { kind: "conflict", field: "agent" }),
      last({ opening: OTHER }),
    ],
    /which stored opening, was never accepted/,
    [OTHER, READ],
  ],
  "something visible that was never sent": [
    [last({ opening: OPEN })],
    /was never accepted/,
    [READ],
  ],
  "a flaw that was accepted": [
    [op(FLAWED, 0, 1, appended(1)), last({})],
    /despite its flaw/,
    [FLAWED, READ],
  ],
  "a refusal without a flaw": [
    [op(BATCH, 0, 1, { kind: "refused" }), last({})],
    /refused without a flaw/,
    [BATCH, READ],
  ],
  "a response that no call may get": [
    [op(BATCH, 0, 1, { kind: "strange", why: "was answered 500" }), last({})],
    /was answered 500/,
    [BATCH, READ],
  ],
  "a read that misses a write acknowledged before it began": [
    [OPENED, read(11, 12, {}), last({ opening: OPEN })],
    /call 8 did not see opening, .* so call 8 comes before call 0, which had ended/,
    [READ, OPEN],
  ],
  "a read of a write that is sent later": [
    [read(0, 10, { closing: FINISH }), CLOSED, last({ closing: FINISH })],
    /so call 1 comes before call 8, which had ended/,
    [FINISH, READ],
  ],
  "a run that is closed and then open again": [
    [
      op(FINISH, 0, 100, FINISHED),
      read(10, 20, { closing: FINISH }),
      read(30, 40, {}),
      last({ closing: FINISH }),
    ],
    /so call 8 comes before call 8, which had ended/,
    [READ, FINISH, READ],
  ],
  "a run reported as open after its close was acknowledged": [
    [OPENED, CLOSED, op(OPEN, 40, 50, AGAIN), last({ opening: OPEN, closing: FINISH })],
    /call 0 did not see closing/,
    [OPEN, FINISH],
  ],
  "half a batch": [
    [
      op(BATCH, 0, 100, appended(2)),
      read(10, 90, { 1: BATCH }),
      last({ 1: BATCH, 2: BATCH }),
    ],
    /each comes before itself/,
    [BATCH, READ],
  ],
  "half a heartbeat": [
    [
      op(BEAT, 0, 100, BEATEN),
      read(10, 90, { opening: BEAT }),
      last({ opening: BEAT, closing: BEAT }),
    ],
    /each comes before itself/,
    [BEAT, READ],
  ],
  "two reads that each miss the write that the other found": [
    [
      op(OPEN, 0, 100, FIRST),
      op(FINISH, 0, 100, FINISHED),
      read(10, 90, { opening: OPEN }),
      read(10, 90, { closing: FINISH }),
      last({ opening: OPEN, closing: FINISH }),
    ],
    /each comes before itself/,
    [OPEN, READ, FINISH, READ],
  ],
  "a part that belonged to another call before": [
    [
      op(BATCH, 0, 1, UNKNOWN),
      op(REPEAT, 2, 3, appended(1)),
      read(4, 5, { 1: BATCH, 2: BATCH }),
      last({ 2: REPEAT }),
    ],
    /read another evt_eu_\w+2 than the final one/,
    [READ, READ],
  ],
  "an event that is listed twice": [
    [APPENDED, last({ 1: BATCH, 2: BATCH }, { listed: ["x", "x", "y"] })],
    /but its parts say/,
    [READ],
  ],
  "a count that does not add up": [
    [APPENDED, last({ 1: BATCH, 2: BATCH }, { events: 3 })],
    /but its parts say/,
    [READ],
  ],
  "a cost that does not add up": [
    [APPENDED, last({ 1: BATCH, 2: BATCH }, { cost: 75_000_001 })],
    /"cost":75000001.*but its parts say.*"cost":75000000/,
    [READ],
  ],
};

for (const [what, [history, why, calls]] of Object.entries(WRONG)) {
  Deno.test(`histories: the checker refuses ${what}`, () => {
    const anomaly = explain(history);
    assertMatch(anomaly?.why ?? "explained", why);
    assertEquals(anomaly?.operations.map(({ call }) => call.by).sort(), calls.toSorted());
  });
}
