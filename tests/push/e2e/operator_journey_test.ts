/**
 * The operator's worst day as a script: a backup while clients write, a killed service, a restore, a
 * start, a verification. Then the client sends again what the backup lacks.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { KEY } from "../../support/harness/harness.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";
import { runTask } from "../../support/harness/tools.ts";

/** Runs that the client has written before the backup, and writes after it. */
const BEFORE = 20, AFTER = 20;

const HEADERS = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };

/** Sends run `n`, which costs `n` thousandths of a dollar; resolves once it is acknowledged. */
async function write(url: string, n: number): Promise<void> {
  const body = JSON.stringify(aHeartbeat(n, { cost_usd: n / 1_000 }));
  const answer = await fetch(`${url}/v1/heartbeats`, { method: "POST", headers: HEADERS, body });
  await answer.body?.cancel();
  assert(answer.ok, String(answer.status));
}

/** A client that writes runs one after the other. */
class Client {
  /** Number of the last run that it sent, and of the last that was acknowledged. */
  sent = 0;
  acknowledged = 0;
  readonly #url: string;
  #heard = Promise.withResolvers<void>();

  constructor(url: string) {
    this.#url = url;
  }

  /** Writes until the service is gone. */
  async run(): Promise<void> {
    try {
      for (;;) {
        await write(this.#url, ++this.sent);
        this.acknowledged = this.sent;
        this.#heard.resolve();
        this.#heard = Promise.withResolvers();
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Resolves when run `n` is acknowledged. */
  async reached(n: number): Promise<void> {
    while (this.acknowledged < n) await this.#heard.promise;
  }
}

async function read(url: string, path: string) {
  const answer = await fetch(url + path, { headers: HEADERS });
  return { status: answer.status, json: await answer.json() };
}

/** Reads how many of the runs there are, the totals of spend, and the usage of the plan. */
async function numbersOf(url: string) {
  let runs = 0;
  while ((await read(url, `/v1/runs/${runId(runs + 1)}`)).status === 200) {
    await read(url, `/v1/runs/${runId(++runs)}?wait=final`);
  }
  const { totals } = (await read(url, "/v1/spend")).json;
  const { months } = (await read(url, "/v1/usage")).json;
  const used = months.reduce((sum: number, month: { used: number }) => sum + month.used, 0);
  return { runs, ofSpend: totals.runs, thousandths: Math.round(totals.cost_usd * 1_000), used };
}

/** Numbers of a ledger that has the runs 1 to `n`. */
function numbersFor(n: number) {
  return { runs: n, ofSpend: n, thousandths: n * (n + 1) / 2, used: n };
}

/** Runs a task that must succeed. */
async function task(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runTask(...args);
  assertEquals(code, 0, stdout + stderr);
  return stdout;
}

inFolder.test("operator journey: backup under load, kill -9, restore, start, verify", async (folder) => {
  const [ledger, backup] = [`${folder}/ledger.kv`, `${folder}/backup.kv`];
  const settings = { RUNLEDGER_KV: ledger, RUNLEDGER_KEY: KEY, RUNLEDGER_TIER: "enterprise" };

  // A backup while a client writes.
  await using service = await Process.start(settings);
  const client = new Client(service.url);
  const writing = client.run();
  await client.reached(BEFORE);
  const acknowledgedBefore = client.acknowledged;
  await task("backup", backup, `--kv=${ledger}`);
  const sentDuring = client.sent;
  assert(client.acknowledged > acknowledgedBefore, "the backup stopped the writes");

  // The service is killed, and the ledger is replaced by the backup.
  await client.reached(sentDuring + AFTER);
  await service.stop("SIGKILL");
  await writing;
  const restored = await task("restore", backup, `--kv=${ledger}`);
  assertStringIncludes(restored, `moved the previous file to ${ledger}.before-restore-`);

  // Every run from before the backup is there, none from after it, and the numbers add up.
  await using again = await Process.start(settings);
  const stored = await numbersOf(again.url);
  assert(stored.runs >= acknowledgedBefore && stored.runs <= sentDuring, String(stored.runs));
  assertEquals(stored, numbersFor(stored.runs));
  assertStringIncludes(await task("verify", `--kv=${ledger}`), "is exact");

  // The client sends all of its runs again: none is missing then, and none counts twice.
  for (let n = 1; n <= client.sent; n++) await write(again.url, n);
  assertEquals(await numbersOf(again.url), numbersFor(client.sent));
  assertEquals((await again.stop()).code, 0);
});
