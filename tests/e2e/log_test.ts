/** Nothing that becomes of the log ends or holds up the service; `deno task assure chaos` has more of these. */
import { logBroken, LOGS } from "../assurance/chaos/logs.ts";

for (const [name, open] of Object.entries(LOGS)) {
  Deno.test({
    name: `log: ${name}, and every call is answered, and SIGTERM ends the process in time`,
    ignore: Deno.build.os !== "linux",
    fn: async () => void await logBroken(open),
  });
}
