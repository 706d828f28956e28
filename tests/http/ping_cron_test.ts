/** A job of cron that fails, as `sh` runs its line: it never counts as a success (R23, R24). */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Answer, Harness } from "../support/harness/harness.ts";

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
    assertMatch(
      wrong,
      /^OK no monitor: cron must be a cron expression of 5 or 6 fields .*\n$/,
    );

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
