/** Tests the program with the environment of Deno Deploy. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { developmentKey } from "../../../domain/teams/credentials.ts";
import { KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Process, runToEnd, type Settings } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const EXIT_SETTINGS = 2, EXIT_STORE = 3, EXIT_RETRY = 4;

const KEY = `apk_us_${"ab".repeat(16)}`;

/** Milliseconds from SIGINT until the platform kills an instance. */
const KILLED_MS = 5_000;

/** Variables that the platform sets on an app without a KV. */
const PLATFORM = {
  DENO_DEPLOY: "1",
  DENO_KV_REQUIRES_DISTRIBUTED_DATABASE: "error",
  DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
};

const OWN: Settings = { RUNLEDGER_REGION: "us", RUNLEDGER_KEY: KEY, PORT: undefined };

/** An app with the KV attached. */
function appWith(kv: KvServer): Settings {
  const attached = { DENO_KV_DEFAULT_PATH: kv.url(), DENO_KV_ACCESS_TOKEN: KV_TOKEN };
  return { ...PLATFORM, ...attached, ...OWN };
}

function get(url: string, key: string, client?: Deno.HttpClient): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  return fetch(url, { headers, ...(client && { client }) }).then(async ({ status, body }) => {
    await body?.cancel();
    return status;
  });
}

KvServer.test("Deno Deploy: the attached KV is the ledger, and no log line has a secret", async (kv) => {
  await using service = await Process.start(appWith(kv));
  assertEquals(await get(`${service.url}/v1/ping?agent=hello`, KEY), 200);
  for (const region of ["us", "eu"] as const) {
    assertEquals(await get(`${service.url}/v1/runs`, developmentKey(region)), 401);
  }
  assert(kv.counts.commits > 0);
  const { code, stdout, stderr } = await service.stop("SIGINT");
  assertEquals(code, 0);
  assertMatch(
    stderr,
    /^Created a new ledger at the attached KV\nRunledger \d+\.\d+\.\d+ listens on http:\S+, region us, ledger the attached KV\nStopping: .*\nStopped: .*\n$/,
  );
  const lines = stdout.trimEnd().split("\n");
  assertEquals(lines.map((line) => JSON.parse(line).status), [200, 401, 401]);
  for (const secret of [KEY, KV_TOKEN, developmentKey("us")]) {
    assert(!(stdout + stderr).includes(secret), stdout + stderr);
  }
});

KvServer.test("Deno Deploy: the service listens where the platform says, also on a socket without addresses", async (kv) => {
  await withFolder(async (folder) => {
    const path = `${folder}/serve.sock`;
    const settings = { ...appWith(kv), DENO_SERVE_ADDRESS: `unix:${path}`, PORT: "9" };
    await using service = await Process.start(settings);
    assertEquals(service.url, `unix:${path}`);
    using client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
    assertEquals(await get("http://ledger.example/v1/runs", KEY, client), 200);
    assertEquals(await get("http://ledger.example/v1/runs", KEY.replace("ab", "cd"), client), 401);
    assertEquals((await service.stop("SIGINT")).code, 0);
  });
});

Deno.test("Deno Deploy: without an attached KV it does not start, and says what to do", async () => {
  for (const attached of [{}, { DENO_KV_DEFAULT_PATH: ":memory:" }]) {
    const settings = { ...PLATFORM, DENO_KV_REQUIRES_DISTRIBUTED_DATABASE: "warn", ...OWN };
    const { code, stdout, stderr } = await runToEnd({ ...settings, ...attached });
    assertEquals([code, stdout], [EXIT_STORE, ""], stderr);
    assertMatch(stderr, /^No KV database is attached to this app: assign one [^\n]+\n$/);
  }
});

KvServer.test("Deno Deploy: while the KV answers no commit it does not start, and names the KV, not a disk", async (kv) => {
  kv.knobs.answer = () => "unavailable";
  const { code, stdout, stderr } = await runToEnd(appWith(kv));
  assertEquals([code, stdout], [EXIT_RETRY, ""], stderr);
  // The runtime prints each failed call before.
  const [last = ""] = stderr.trimEnd().split("\n").slice(-1);
  assertMatch(last, /^Cannot use the attached KV: .+: check the KV database of this app /);
});

Deno.test("Deno Deploy: a ledger that an instance would lose and a missing region are both refused", async () => {
  const { code, stderr } = await runToEnd({ ...PLATFORM, RUNLEDGER_KV: "./data/runledger.kv" });
  assertEquals(code, EXIT_SETTINGS);
  const [, region = "", kv = "", ...more] = stderr.trimEnd().split("\n");
  assertStringIncludes(region, "RUNLEDGER_REGION must be set");
  assertStringIncludes(kv, "RUNLEDGER_KV must be an http(s) URL");
  assertEquals(more, []);
});

KvServer.test("Deno Deploy: a KV of one's own works with its token, whatever the platform adds to paths", async (kv) => {
  const settings = { RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN };
  const prefix = { DENO_KV_PATH_PREFIX: "./apps/1/" };
  await using service = await Process.start({ ...PLATFORM, ...prefix, ...OWN, ...settings });
  assertEquals(await get(`${service.url}/v1/runs`, KEY), 200);
});

KvServer.test("Deno Deploy: an instance ends before the platform kills it, also while the KV hangs", async (kv) => {
  const region = { RUNLEDGER_REGION: "eu", RUNLEDGER_KEY: KEY.replace("us", "eu") };
  await using other = await Process.start({ ...appWith(kv), ...region });
  const { ms: freeMs } = await other.stop("SIGINT");
  await using service = await Process.start({ ...appWith(kv), ...region });
  const answered = get(`${service.url}/v1/ping?agent=hello`, region.RUNLEDGER_KEY);
  assertEquals(await answered, 200);
  kv.knobs.hangs = "calls";
  assertEquals(await get(`${service.url}/v1/ping?agent=new`, region.RUNLEDGER_KEY), 503);
  const { code, ms, stderr } = await service.stop("SIGINT");
  assertEquals(code, 0);
  // A busy machine slows both stops.
  assert(ms - freeMs < KILLED_MS - 500, `${ms} ms, and ${freeMs} ms while the KV answers`);
  assertStringIncludes(stderr, "stores its data in the United States, also for region eu");
});
