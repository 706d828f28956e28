/** Tests the step before a rollout on Deno Deploy, by the command of `deno.json`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Process, runToEnd, type Settings } from "../../support/harness/process.ts";

const ROOT = new URL("../../../", import.meta.url);

const KEY = `apk_us_${"ab".repeat(16)}`;

/** Variables that the platform sets while it runs the step. */
function platformWith(kv: KvServer | null): Record<string, string> {
  return {
    DENO_DEPLOY: "1",
    DENO_KV_REQUIRES_DISTRIBUTED_DATABASE: "error",
    ...kv && { DENO_KV_DEFAULT_PATH: kv.url(), DENO_KV_ACCESS_TOKEN: KV_TOKEN },
  };
}

/** Runs the step as the platform does. */
async function predeploy(env: Record<string, string>) {
  const { deploy } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT)));
  const [command, ...args] = deploy.predeploy.split(" ");
  assertEquals(command, "deno");
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    clearEnv: true,
    env: { HOME: Deno.env.get("HOME") ?? "", ...cacheOf(), NO_COLOR: "1", ...env },
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: decode(stdout), err: decode(stderr) };
}

function cacheOf(): Record<string, string> {
  const folder = Deno.env.get("DENO_DIR");
  return folder === undefined ? {} : { DENO_DIR: folder };
}

KvServer.test("predeploy: it stores the first key once, with which the service then starts", async (kv) => {
  const own = { RUNLEDGER_REGION: "us", RUNLEDGER_KEY: KEY };
  const ready = { code: 0, out: "", err: "Ready to deploy: region us, ledger the attached KV\n" };
  const first = await predeploy({ ...platformWith(kv), ...own });
  assertEquals(first, { ...ready, err: `Created a new ledger at the attached KV\n${ready.err}` });
  const { commits } = kv.counts;
  assert(commits > 0);
  assertEquals(await predeploy({ ...platformWith(kv), RUNLEDGER_REGION: "us" }), ready);
  assertEquals(kv.counts.commits, commits);
  // The stored key works without the setting.
  const settings: Settings = { ...platformWith(kv), RUNLEDGER_REGION: "us" };
  await using service = await Process.start(settings);
  const headers = { Authorization: `Bearer ${KEY}` };
  const { status, body } = await fetch(`${service.url}/v1/runs`, { headers });
  await body?.cancel();
  assertEquals(status, 200);
});

KvServer.test("predeploy: settings, KV or key that do not suffice stop the rollout with the reason", async (kv) => {
  const region = await predeploy({ ...platformWith(kv), RUNLEDGER_KEY: KEY });
  assertEquals(region.code, 2);
  assertMatch(region.err, /\n {2}RUNLEDGER_REGION must be set [^\n]+\n$/);
  const key = await predeploy({ ...platformWith(kv), RUNLEDGER_REGION: "us" });
  assertEquals(key.code, 2);
  assertMatch(key.err, /\n {2}RUNLEDGER_KEY must be set [^\n]+\n$/);
  assertEquals(kv.counts.commits, 0);
  const detached = await predeploy({ ...platformWith(null), RUNLEDGER_REGION: "us" });
  assertEquals(detached.code, 3);
  assertMatch(detached.err, /^No KV database is attached to this app[^\n]+\n$/);
});

KvServer.test("a platform's service without its predeploy step stores the first key itself", async (kv) => {
  const settings = { ...platformWith(kv), RUNLEDGER_REGION: "us" };
  assertEquals((await runToEnd(settings)).code, 2);
  await using service = await Process.start({ ...settings, RUNLEDGER_KEY: KEY });
  const headers = { Authorization: `Bearer ${KEY}` };
  const { status, body } = await fetch(`${service.url}/v1/runs`, { headers });
  await body?.cancel();
  assertEquals(status, 200);
  assertEquals((await predeploy(settings)).code, 0);
});
