/**
 * The step before a rollout on Deno Deploy: checks the settings and the ledger, and stores the first
 * team. A failure stops the rollout, and the revision before it keeps serving.
 */
import { flushConsole, say } from "../app/console.ts";
import { FLUSH_MS_MAX } from "../app/request_log.ts";
import { ensureFirstKey, openLedger, readConfig } from "../app/start.ts";
import { Memory } from "../runtime/memory.ts";

const config = await readConfig();
const store = await openLedger(config, new Memory(config.memoryMb));
await ensureFirstKey(config, store);
await store.close();
say(`Ready to deploy: region ${config.region}, ledger ${config.kv.name}`);
await flushConsole(FLUSH_MS_MAX);
Deno.exit(0);
