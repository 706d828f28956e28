/** A short simulation, and the rule that its model imports nothing. `tests/push/` has more. */
import { assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { Cells } from "./cells.ts";
import { playSeed } from "./play.ts";

const SEQUENCES = 15;

Deno.test("model: each response and the complete store follow the contract", async () => {
  for (let seed = SEED; seed < SEED + SEQUENCES; seed++) {
    assertEquals(await playSeed(seed, new Cells()), null);
  }
});

Deno.test("model: it depends on the contract alone, and imports nothing from the service", () => {
  for (
    const name of [
      "model",
      "lenient",
      "shape",
      "rules",
      "values",
      "reads",
      "monitors",
      "monitor_state",
      "schedules",
      "pings",
      "alerts",
      "alert_state",
      "alert_outcomes",
      "checks",
      "check_state",
    ]
  ) {
    const text = Deno.readTextFileSync(new URL(`../../assurance/sim/${name}.ts`, import.meta.url));
    const imports = [...text.matchAll(/from "(.*)"/g)].map(([, from = ""]) => from);
    assertEquals(
      imports.filter((from) =>
        !/^(node:crypto|\.\/(shape|lenient|rules|values|monitors|monitor_state|schedules|pings|alerts|alert_outcomes|reads|checks)\.ts)$/
          .test(from)
      ),
      [],
      name,
    );
  }
});
