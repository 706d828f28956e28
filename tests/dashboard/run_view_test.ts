/** The view of a run's page: the child runs that explain a failure, and the links of a page. */
import { assertEquals, assertMatch } from "@std/assert";
import type { RunId } from "../../domain/core/ids.ts";
import type { RunRecord } from "../../domain/runs/record.ts";
import type { RunStatus } from "../../domain/runs/run.ts";
import { failedPath } from "../../routes/dashboard/run/branches.ts";
import { END, positionBefore, START, tracePath } from "../../routes/dashboard/run/paths.ts";
import { parseCursor } from "../../routes/api/runs/run_json.ts";
import { aRow } from "../support/builders/exports.ts";
import { runId } from "../support/builders/requests.ts";

const id = (n: number) => runId(n) as RunId;

/** Returns a child run that started at its number. */
function child(n: number, parent: number, status: RunStatus) {
  return { row: aRow(n, { status, startedAt: n, parent: id(parent) }), parent: id(parent) };
}

function path(status: RunStatus, ...children: ReturnType<typeof child>[]): RunId[] {
  const run = { id: id(1), status } as RunRecord;
  return failedPath(run, children).map(({ id }) => id);
}

Deno.test("a failure is explained by the last child run that failed, and by its child runs", () => {
  const children = [
    child(2, 1, "failed"),
    child(5, 1, "success"),
    child(4, 1, "timeout"),
    child(8, 4, "failed"),
    child(9, 8, "success"),
    child(7, 2, "failed"),
  ];
  assertEquals(path("failed", ...children), [id(4), id(8)]);
  assertEquals(path("timeout", ...children.toReversed()), [id(4), id(8)]);
  assertEquals(path("success", ...children), []);
  assertEquals(path("failed", child(2, 1, "success"), child(3, 2, "failed")), []);
});

Deno.test("a link to a page of steps has the position that the page follows", () => {
  for (const after of [START, END, positionBefore({ ts: 5, batch: 0, index: 0 })]) {
    const [, cursor = ""] = /events_cursor=([^&]+)/.exec(tracePath(id(1), { after })) ?? [];
    assertEquals(parseCursor(decodeURIComponent(cursor)), after);
  }
  assertEquals(positionBefore(START), null);
  assertEquals(positionBefore({ ts: 5, batch: 3, index: 2 }), { ts: 5, batch: 3, index: 1 });
  const view = { kind: "tool", failed: true, text: "a b", inRun: id(2), list: "" } as const;
  assertMatch(tracePath(id(1), view), /\?kind=tool&text=a\+b&in=run_eu_0*2&failed=1&list=$/);
  assertMatch(tracePath(id(1), { list: "" }), /1\?list=$/);
});
