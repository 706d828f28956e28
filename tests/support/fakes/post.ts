/** Sends a request to each URL of the command line, as a process of its own, and prints the outcomes. */
import { createPost, parseEgress, resolveHost } from "../../../outbound/http.ts";

const egress = parseEgress("127.0.0.0/8,::1/128");
if (egress === null) throw new TypeError("Not a setting");
const post = createPost({
  egress,
  resolve: async (name) => name === "receiver.test" ? ["127.0.0.1"] : await resolveHost(name),
});
const outcomes = await Promise.all(
  Deno.args.map((url) => post({ url, headers: {}, body: "" }, AbortSignal.timeout(10_000))),
);
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(outcomes)));
