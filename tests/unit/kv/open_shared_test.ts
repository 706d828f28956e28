/** Opening the URL of a shared KV that does not work. */
import { assertRejects } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { openStore } from "../../../kv/open.ts";
import { StoreRefused } from "../../../kv/refused.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";

const ANSWER_MS_MAX = 200;

for (const hangs of ["all", "calls"] as const) {
  Deno.test({
    name: `open: a shared KV that answers ${
      hangs === "all" ? "nothing" : "no read"
    } is refused in time`,
    // A handle waits for its reads, so it stays open.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using kv = await KvServer.start();
      kv.knobs.hangs = hangs;
      await asKvClient(async () => {
        const opening = openStore(kv.url(), new Memory(), { answerMsMax: ANSWER_MS_MAX });
        const words = "no answer in 0.2 s: check RUNLEDGER_KV and RUNLEDGER_KV_TOKEN";
        await assertRejects(() => opening, StoreRefused, words);
      });
    },
  });
}
