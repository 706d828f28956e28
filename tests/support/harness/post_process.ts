/** Sends a request to the URL of the command line, as a process of its own, and prints the outcome. */
import { parseEgress } from "../../../outbound/egress.ts";
import { createPost, resolveHost } from "../../../outbound/http.ts";

const egress = parseEgress("127.0.0.0/8,::1/128");
if (egress === null) throw new TypeError("Not a setting");
const post = createPost({ egress, resolve: resolveHost });
const request = { url: Deno.args[0] ?? "", headers: {}, body: "" };
const outcome = await post(request, AbortSignal.timeout(10_000));
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(outcome)));
