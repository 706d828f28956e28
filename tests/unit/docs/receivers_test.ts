/** The receivers in `examples/` take signed webhooks once, and refuse all others. */
import { assertEquals } from "@std/assert";
import { Webhook } from "standardwebhooks";
import { isInstalled } from "../../support/harness/commands.ts";

const SECRET = `whsec_${new Uint8Array(32).fill(7).toBase64()}`;

const EXAMPLES = new URL("../../../examples/", import.meta.url).pathname;

/** The receivers, and the commands that may run them. */
const RECEIVERS = [
  { language: "js", name: "receiver.mjs", commands: [["node"], [Deno.execPath(), "run", "-A"]] },
  { language: "python", name: "receiver.py", commands: [["python3"]] },
] as const;

/** Returns a port that is free now. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Sends requests to a receiver once it listens; returns their statuses. */
async function sendAll(port: number, requests: readonly RequestInit[]): Promise<number[]> {
  const statuses: number[] = [];
  for (let tries = 0; statuses.length < requests.length;) {
    try {
      const request = { method: "POST", ...requests[statuses.length] };
      const { status, body } = await fetch(`http://127.0.0.1:${port}`, request);
      await body?.cancel();
      statuses.push(status);
    } catch (error) {
      if (++tries > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return statuses;
}

function signed(id: string, body: string, at: Date, secret = SECRET): RequestInit {
  return {
    body,
    headers: {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    },
  };
}

for (const { language, name, commands } of RECEIVERS) {
  for (const [command, ...args] of commands) {
    Deno.test({
      name: `the receiver in ${language} verifies signatures, run by ${command.split("/").at(-1)}`,
      ignore: !isInstalled(command),
      fn: async () => {
        const port = freePort();
        const process = new Deno.Command(command, {
          args: [...args, EXAMPLES + name],
          env: { WEBHOOK_SECRET: SECRET, PORT: String(port) },
          stdout: "piped",
          stderr: "null",
        }).spawn();
        const incident = { message: "nächtlich failed" };
        const body = JSON.stringify({ type: "incident.opened", data: { incident, test: false } });
        const now = new Date();
        const right = signed("whd_eu_1", body, now);
        const other = `whsec_${new Uint8Array(32).fill(8).toBase64()}`;
        const both = signed("whd_eu_2", body, now);
        const headers = both.headers as Record<string, string>;
        const old = new Webhook(other).sign("whd_eu_2", now, body);
        headers["webhook-signature"] = `${old} ${headers["webhook-signature"]}`;
        const statuses = await sendAll(port, [
          right,
          right,
          both,
          { ...right, body: body.replace("opened", "updated") },
          signed("whd_eu_3", body, now, other),
          signed("whd_eu_4", body, new Date(now.getTime() - 3_600_000)),
          { body },
        ]);
        process.kill();
        const { stdout } = await process.output();
        assertEquals(statuses, [204, 204, 204, 401, 401, 401, 401]);
        const line = "incident.opened nächtlich failed\n";
        assertEquals(new TextDecoder().decode(stdout), line.repeat(2));
      },
    });
  }
}
