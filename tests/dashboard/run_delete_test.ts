import { assert, assertEquals, assertMatch } from "@std/assert";
import { anEvent, aRun, runId } from "../support/builders/requests.ts";
import { signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

Harness.test("a deletion asks for confirmation, and is logged under the key's name", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  const reader = await signedIn(h);
  const { text } = await reader.get(PAGE);
  assert(
    text.includes(`href="${PAGE}?confirm=delete"`) &&
      !text.includes('<button type="submit" class="btn danger"'),
  );
  const confirmation = (await reader.get(`${PAGE}?confirm=delete`)).text;
  assertMatch(textOf(confirmation), /Delete this run\? It is deleted with its 1 event, .* Keep it/);
  assert(confirmation.includes(`method="post" action="${PAGE}/delete"`));
  assert(
    !/hx-trigger|http-equiv="refresh"/.test(confirmation),
    "the confirmation does not reload",
  );
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 200);
  const done = await reader.send(`${PAGE}/delete`);
  assertEquals([done.status, done.headers.get("location")], [303, "/dashboard/runs?done=deleted"]);
  assertMatch(textOf((await reader.get("/dashboard/runs?done=deleted")).text), /Runs .*Deleted\./);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
  const { entries } = (await h.get("/v1/audit")).json;
  const { keys } = (await h.get("/v1/keys")).json;
  assertEquals([entries[0].action, entries[0].actor.id], ["run.deleted", keys[0].id]);
});
