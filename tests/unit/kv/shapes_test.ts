/**
 * The number of the stored format guards the shapes of all rows (R21): a shape cannot change without
 * a new number.
 */
import { assert, assertEquals } from "@std/assert";
import { LEDGER_FORMAT } from "../../../kv/base/keys.ts";
import { fillWorld, openWorld } from "../../support/builders/whole_world.ts";
import { shapesOf } from "../../support/oracles/shapes.ts";

const FILE = new URL("../../support/fixtures/shapes.json", import.meta.url);

const HELP = "raise LEDGER_FORMAT in kv/base/keys.ts, say in CHANGELOG.md that the upgrade needs " +
  "an export, then record the shapes: deno task shapes";

interface Recorded {
  readonly format: number;
  readonly shapes: Readonly<Record<string, unknown>>;
}

async function read(): Promise<Recorded> {
  return JSON.parse(await Deno.readTextFile(FILE));
}

/** Returns what changed since the shapes were recorded; null for nothing. */
function changeOf(recorded: Recorded, now: Recorded): string | null {
  if (recorded.format !== now.format) return "the recorded shapes are those of another format";
  const names = new Set([...Object.keys(recorded.shapes), ...Object.keys(now.shapes)]);
  for (const name of names) {
    const [before, after] = [recorded, now].map(({ shapes }) => JSON.stringify(shapes[name]));
    if (before !== after) return `${name} changed from ${before} to ${after}`;
  }
  return null;
}

Deno.test("shapes: no stored row changes its shape without a new LEDGER_FORMAT (R21)", async (t) => {
  await using h = await openWorld();
  await fillWorld(h);
  const now: Recorded = { format: LEDGER_FORMAT, shapes: await shapesOf(h.store) };
  if (Deno.args.includes("--record")) {
    const change = await read().then((recorded) => changeOf(recorded, now), () => null);
    const mayRecord = change === null || change.includes("another format");
    assert(mayRecord, `Not recorded: ${change}: first raise LEDGER_FORMAT`);
    await Deno.writeTextFile(FILE, `${JSON.stringify(now, null, 2)}\n`);
  }
  const recorded = await read();
  const change = changeOf(recorded, now);
  assert(change === null, `${change}: ${HELP}`);
  await t.step("each change of a codec, a row or a family is noticed", () => {
    const changed = (shapes: Recorded["shapes"]) => changeOf(recorded, { ...recorded, shapes });
    const { "codec summary": summary, "row team/string": team, ...rest } = now.shapes;
    assert(changed({ ...now.shapes, "codec summary": { ...summary as object, added: "plain" } }));
    assert(changed({ ...now.shapes, "row team/string": [...team as string[], ".added string"] }));
    assert(changed({ ...now.shapes, "row budget/string": [] }));
    assert(changed({ ...rest, "codec summary": summary }));
    assertEquals(changed(now.shapes), null);
    const next = { ...recorded, format: recorded.format + 1 };
    assertEquals(changeOf(recorded, next), "the recorded shapes are those of another format");
  });
});
