/** A short simulation, and the rule that its model imports nothing. `tests/push/` has more. */
import { assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { playSeed } from "./run_play.ts";

const SEQUENCES = 15;

Deno.test("model: each response and the complete store follow the contract", async () => {
  for (let seed = SEED; seed < SEED + SEQUENCES; seed++) {
    assertEquals(await playSeed(seed), null);
  }
});

Deno.test("model: it depends on the contract alone, and imports nothing from the service", () => {
  const FILES = "model lenient shape rules values reads monitors monitor_state schedules pings " +
    "alerts alert_state alert_outcomes checks check_state";
  const names = FILES.split(" ");
  const allowed = new Set(["node:crypto", ...names.map((name) => `./${name}.ts`)]);
  for (const name of names) {
    const text = Deno.readTextFileSync(new URL(`./${name}.ts`, import.meta.url));
    const imports = [...text.matchAll(/from "(.*)"/g)].map(([, from = ""]) => from);
    assertEquals(imports.filter((from) => !allowed.has(from)), [], name);
  }
});
