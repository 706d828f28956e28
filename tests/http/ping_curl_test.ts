/** The documented command line, run by the same curl that cron would use (section 3). */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Answer, Harness } from "../support/harness/harness.ts";

const text = new TextDecoder();

/** Runs the documented line in a shell, with the variables it names. */
async function shell(line: string, env: Record<string, string>) {
  const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-c", line], env })
    .output();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

const LINE = 'curl -sS --fail-with-body -m 10 --retry 3 -u "$TOKEN:" "$URL/v1/ping?exit_code=$rc"';
const EXITS = { 0: "success", 1: "failed", 2: "failed", 124: "timeout", 255: "failed" };

Harness.test("section 3: the documented curl line reports the exit code of a job", async (h) => {
  const TOKEN = await h.addKey({ kind: "ping_token", agent: "cron" });
  for (const [rc, status] of Object.entries(EXITS)) {
    const result = await shell(`${LINE} -D -`, { TOKEN, URL: h.url, rc });
    assertEquals([result.code, result.stderr], [0, ""]);
    assertStringIncludes(result.stdout, "OK\n");
    const id = /^x-run-id: (\S+)/mi.exec(result.stdout)?.[1];
    const run = (await h.get(`/v1/runs/${id}`)).json;
    assertEquals([run.agent, run.status], ["cron", status]);
  }
  assertEquals(await h.usage(), 5);
});

Harness.test("section 3: the line works after a real job, with the job's own exit code", async (h) => {
  const TOKEN = await h.addKey({ kind: "ping_token", agent: "cron" });
  const result = await shell(`sh -c "exit 3"; rc=$?; ${LINE}`, { TOKEN, URL: h.url });
  assertEquals([result.code, result.stdout], [0, "OK\n"]);
  assertEquals(await h.usage(), 1);
});

Harness.test("section 3: curl exits with 22 on a refusal and prints its reason", async (h) => {
  const wrong = { TOKEN: `ping_eu_${"0".repeat(32)}`, URL: h.url, rc: "0" };
  const result = await shell(LINE, wrong);
  assertEquals(result.code, 22);
  assertMatch(result.stdout, /^invalid_credential .+\n$/);
  assertMatch(result.stderr, /401/);
  assertEquals(await h.usage(), 0);
});

Harness.test("decision 43: curl -I is a ping too", async (h) => {
  const line = 'curl -fsS -I -m 10 "$URL/v1/ping?agent=a&key=$TOKEN"';
  const result = await shell(line, { TOKEN: h.key, URL: h.url });
  assertEquals(result.code, 0);
  assertMatch(result.stdout, /^HTTP\/1\.1 200/);
  assertEquals(await h.usage(), 1);
  assert(!h.log.some((logged) => logged.includes(h.key)), "the key is in the request log");
});

Harness.test("decision 42: curl --retry retries after 503 and the ping counts once", async (h) => {
  h.draining = true;
  // The service recovers after its first refusal: curl waits for Retry-After.
  const push = h.log.push.bind(h.log);
  h.log.push = (...lines) => {
    h.draining = false;
    return push(...lines);
  };
  const result = await shell(LINE.replace("?", "?agent=cron&"), {
    TOKEN: h.key,
    URL: h.url,
    rc: "0",
  });
  // curl shows the body of each failed try.
  assertEquals([result.code, result.stdout.split("\n").slice(1)], [0, ["OK", ""]]);
  assertEquals(h.log.map((line) => JSON.parse(line).status), [503, 200]);
  assertEquals(await h.usage(), 1);
});

const hasCurl = await new Deno.Command("curl", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);

/** Runs a line as cron does: by `sh`, with its short environment. Returns what cron would mail. */
async function cron(h: Harness, line: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", line.replaceAll("{ping}", `${h.url}/v1/ping?agent=backup`)],
    env: { PATH: Deno.env.get("PATH") ?? "", KEY: h.key, ...env },
    clearEnv: true,
  }).output();
  const text = new TextDecoder();
  return text.decode(stdout) + text.decode(stderr);
}

const CURL = 'curl -sS --fail-with-body -m 10 --retry 3 -u "$KEY:"';
const QUIET = "| grep -vx OK";

/** The runs of the job, oldest first. */
async function runsOf(h: Harness): Promise<Answer["json"][]> {
  return (await h.getFinal("/v1/runs?agent=backup")).json.runs.reverse();
}

Deno.test({
  name:
    "R23, R24: a job of cron that fails never counts as a success, and its mail says what is wrong",
  ignore: !hasCurl,
  async fn() {
    await using h = await Harness.open();
    const job = "sh -c 'exit 3'";
    const start = `${CURL} "{ping}&status=start" ${QUIET};`;
    const next = () => h.nowMs += 60_000;

    // Start and end without an id are one run, and cron has nothing to mail.
    assertEquals(await cron(h, `${start} ${job}; ${CURL} "{ping}&exit_code=$?" ${QUIET}`), "");
    next();
    // A misspelt parameter cannot say that the job failed: the mail tells.
    const typo = await cron(h, `${job}; ${CURL} "{ping}&exitcode=$?" ${QUIET}`);
    assertEquals(typo, "OK ignored exitcode, did you mean exit_code?\n");
    next();
    // A variable that is not set.
    const unset = await cron(h, `${start} ${job}; ${CURL} "{ping}&exit_code=$rc" ${QUIET}`);
    assertMatch(unset, /^invalid_field Parameter "exit_code" is empty: .*\n.*\b400\n$/);
    next();
    // A cron line with four fields: the run counts, the mail says that nothing watches the job.
    const four = "cron=0+2+*+*&tz=Europe/Berlin";
    const wrong = await cron(h, `${job}; ${CURL} "{ping}&exit_code=$?&${four}" ${QUIET}`);
    assertMatch(wrong, /^OK no monitor: cron must be a cron expression of 5 or 6 fields .*\n$/);

    const runs = await runsOf(h);
    assertEquals(runs.map(({ status, flags }) => [status, flags]), [
      ["failed", []],
      ["success", ["ignored_fields"]],
      // Its end was refused, and the next one ended it.
      ["failed", []],
    ]);
    assertEquals(runs[2].duration_ms, 60_000);
    assertEquals((await h.get("/v1/refusals")).json.counts.length, 2);
    assert((await h.get("/v1/agents/backup/monitor")).status === 404);
  },
});

Deno.test({
  name: "R23: with rid, a start and an end that curl repeats are one run each",
  ignore: !hasCurl,
  async fn() {
    await using h = await Harness.open();
    const line = ["&status=start", "&status=start", "&exit_code=3", "&exit_code=3"]
      .map((query) => `${CURL} "{ping}&rid=$$${query}"`).join("; ");
    assertEquals(await cron(h, line), "OK\n".repeat(4));
    const runs = await runsOf(h);
    assertEquals(runs.map(({ status }) => status), ["failed"]);
    assertEquals(await h.usage(), 2);
  },
});
