/** The documented command line, run by the same curl that cron would use (section 3). */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Harness } from "../support/harness/harness.ts";

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
