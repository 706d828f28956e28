/**
 * Tests that no problem of the log ends or delays the service; `deno task assure chaos` has more of
 * them.
 */
import { logBroken, LOGS } from "../../assurance/chaos/logs.ts";

for (const [name, open] of Object.entries(LOGS)) {
  Deno.test({
    name: `log: ${name}, every call gets a response, and SIGTERM ends the process in time`,
    ignore: Deno.build.os !== "linux",
    fn: async () => void await logBroken(open),
  });
}
