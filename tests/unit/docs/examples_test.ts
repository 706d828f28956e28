/** Commands that the documents tell a newcomer to paste work unchanged. */
import { assert, assertEquals } from "@std/assert";
import { NO_EGRESS, parseEgress } from "../../../outbound/http.ts";
import { ModelServer } from "../../support/fakes/model_server.ts";
import { answer, Receiver } from "../../support/fakes/receiver.ts";
import { isInstalled } from "../../support/harness/commands.ts";
import { Harness } from "../../support/harness/harness.ts";

const root = new URL("../../../", import.meta.url);

/** The shell blocks of a document that call the service. */
function examplesOf(path: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, root));
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block)
    .filter((block) => /curl|^U=/m.test(block));
}

/** Runs pasted blocks in one shell against a harness. */
async function paste(
  h: Harness,
  blocks: string[],
  shell = "bash",
): Promise<{ code: number; output: string }> {
  const script = blocks.join("\n")
    .replaceAll("http://127.0.0.1:8000", h.url)
    .replaceAll("apk_eu_0123456789abcdef0123456789abcdef", h.key);
  const { code, stdout, stderr } = await new Deno.Command(shell, { args: ["-c", script] })
    .output();
  return { code, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

for (const shell of ["bash", "zsh"]) {
  Deno.test({
    name:
      `the first commands of the README and of the API document ping, open, feed, finish and read a run, in ${shell}`,
    ignore: !isInstalled(shell),
    fn: async () => {
      await using h = await Harness.open();
      const blocks = [...examplesOf("README.md"), ...examplesOf("docs/API.md")];
      const { code, output } = await paste(h, blocks, shell);
      assertEquals(code, 0, output);
      assert(output.includes('"status":"running"'), output);
      assert(output.includes('{"accepted":1,"duplicates":0}'), output);
      const [id = ""] = /run_eu_[0-9a-f]{32}/.exec(output) ?? [];
      const run = (await h.get(`/v1/runs/${id}`)).json;
      assertEquals([run.status, run.cost.state], ["success", "final"]);
      const agoMs = Date.now() - Date.parse(run.started_at);
      assert(agoMs >= 0 && agoMs < 60_000, `${run.started_at} is not now`);
      assert(run.duration_ms > 0, "a run lasts");
      const { input_tokens, output_tokens } = run.usage;
      assertEquals([input_tokens, output_tokens, run.cost_usd], [1_200, 340, 0.0064]);
      // The ping, opening, event and finish.
      assertEquals(await h.usage(), 4);
      // The next minute is another run.
      const again = await paste(h, blocks, shell);
      assertEquals([again.code, again.output.includes('"error":')], [0, false], again.output);
    },
  });
}

Harness.test("the commands of the document on monitors create one, and change it", async (h) => {
  const { code, output } = await paste(h, examplesOf("docs/MONITORS.md"));
  assertEquals(code, 0, output);
  const { runs } = (await h.getFinal("/v1/runs?agent=report")).json;
  assertEquals(runs.map(({ status }: { status: string }) => status), ["success"]);
  const path = "/v1/agents/backup/monitor";
  const { schedule, version } = (await h.get(path)).json;
  assertEquals([schedule.cron, version], ["0 2 * * *", 2]);
  // The line of the crontab has the same settings, so it makes the same monitor.
  const text = Deno.readTextFileSync(new URL("docs/MONITORS.md", root));
  const line = /^0 2 \* \* \* {2}backup\.sh; (curl .*)$/m.exec(text)?.[1] ?? "";
  await h.request("DELETE", path);
  // Quiet, because cron mails what it prints.
  assertEquals((await paste(h, ["true", line], "sh")).output, "");
  const { schedule: again, grace_seconds } = (await h.get(path)).json;
  assertEquals([again, grace_seconds], [{ cron: "0 2 * * *", tz: "Europe/Berlin" }, 3_600]);
});

Deno.test("the commands of the document on alerts send a test, failures and an end to a chat", async () => {
  let arrived = Promise.withResolvers<string>();
  await using chat = new Receiver((connection, request) => {
    arrived.resolve(request.body);
    return answer(200, {}, "ok")(connection, request);
  });
  /** Resolves with the next message. */
  const next = async () => {
    const body = await arrived.promise;
    arrived = Promise.withResolvers();
    return body;
  };
  const text = Deno.readTextFileSync(new URL("docs/ALERTS.md", root));
  const { host, port } = new URL(chat.url);
  // The setting that the document names for a receiver on this machine.
  const [, setting = ""] = /RUNLEDGER_EGRESS=(\S+) deno task dev/.exec(text) ?? [];
  const egress = parseEgress(setting.replace("127.0.0.1:9000", host)) ?? NO_EGRESS;
  await using h = await Harness.open({ egress });
  // The shell's clock says when the silence ends. A jump after the monitor exists would pass its deadline.
  h.nowMs = Date.now();
  const [settings = "", fail = "", succeed = "", check = "", ...others] = examplesOf(
    "docs/ALERTS.md",
  ).map((block) => block.replaceAll(/https:\/\/hooks\.slack\.com\/[\w/]+/g, chat.url));
  const [variables = ""] = settings.split("\n");
  const run = async (...blocks: string[]) => {
    const { code, output } = await paste(h, [variables, ...blocks]);
    assertEquals(code, 0, output);
    await h.worker.idle();
    // Chats get one message a second.
    h.nowMs += 1_000;
    return output;
  };
  assert((await run(settings)).includes('"ok":true'));
  assert((await next()).includes("Test of this channel"));
  await run(fail);
  assert((await next()).includes("backup is down"));
  await run(succeed);
  assert((await next()).includes("Resolved: backup is down"));
  await run(check);
  assert((await next()).includes("research failed check cheap-enough"));
  await run(...others);
  const slugs = async (kind: string) =>
    (await h.get(`/v1/${kind}`)).json[kind].map(({ slug }: { slug: string }) => slug);
  assertEquals(await slugs("rules"), [
    ...["budgets", "checks", "costly-run", "customer-day", "each-failure", "failures", "missed"],
    ...["quota", "service", "stuck", "unpriced"],
  ]);
  assertEquals(await slugs("silences"), ["maintenance"]);
  const local = text.split("\n").filter((line) => /^curl .*channels\/local/.test(line));
  const tested = await run(...local.map((line) => line.replace("9000", port)));
  assert(tested.includes(`"ok":true`), tested);
  assert((await next()).includes('"type":"channel.test"'));
});

Harness.test("the commands of the document on checks, pasted as one, show a failing one", async (h) => {
  const { code, output } = await paste(h, examplesOf("docs/CHECKS.md"));
  assertEquals(code, 0, output);
  const answers = output.trim().split("\n").filter((line) => line !== "OK").map((line) =>
    JSON.parse(line)
  );
  const [, { checks: [result] }, { runs }, { days: [day] }, dryRun] = answers;
  const text = Deno.readTextFileSync(new URL("docs/CHECKS.md", root));
  const [, sample = ""] = /```json\n(.*?)```/s.exec(text) ?? [];
  const { check, status, got, message } = result;
  assertEquals({ check, status, got, message }, JSON.parse(sample));
  assertEquals([runs.length, runs[0].agent, day.fail], [1, "triage", 1]);
  assertEquals([answers.length, dryRun.runs, dryRun.fail], [5, 1, 1]);
});

Deno.test("the commands of the document on judges, pasted as one, end in a score", async () => {
  await using server = new ModelServer();
  await using h = await Harness.open({ models: server.models(Date.now) });
  const { code, output } = await paste(h, examplesOf("docs/JUDGES.md"));
  assertEquals(code, 0, output);
  const answers = output.trim().split("\n").map((line) => JSON.parse(line));
  const { judge_results: [result], scores: [score] } = answers[4];
  assertEquals([result.state, result.score, score.name], ["done", 1, "judge:helpful"]);
  const [tried] = answers[5].runs;
  assertEquals([answers.length, tried.state, tried.cost_max_usd], [6, "pending", 0]);
  const { messages } = JSON.parse(server.requests[0]?.body ?? "");
  const sent = { output: { answer: "Paris" }, goal: "Name the capital of France" };
  assertEquals(JSON.parse(messages[1].content), sent);
});

Harness.test("the commands of the document on budgets block, let a shell ask, pause and go on", async (h) => {
  const [budget = "", spend = "", shell = "", pauses = ""] = examplesOf("docs/BUDGETS.md");
  const [variables = ""] = budget.split("\n");
  const run = async (block: string) => {
    const { code, output } = await paste(h, [variables, block]);
    assertEquals(code, 0, output);
    return output;
  };
  await run(budget.split("\n").slice(1).join("\n"));
  const [heartbeat = "", , check = ""] = spend.trim().split("\n");
  await run(heartbeat);
  await h.worker.idle();
  const { decision, blocked_by, rules: [rule] } = JSON.parse(await run(check));
  assertEquals([decision, blocked_by, rule.spent_usd], ["block", [rule.id], 1.25]);
  assertEquals((await run(shell)).trim(), "allow");
  const [pause = "", resume = ""] = pauses.trim().split("\n");
  await run(pause);
  assertEquals((await h.get("/v1/guard/check?agent=triage")).status, 423);
  await run(resume);
  assertEquals((await h.get("/v1/guard/check?agent=triage")).status, 200);
});

Harness.test("the commands of the documents on spend and on prices show both", async (h) => {
  const model = { model: "gpt-4o", input_tokens: 1_000_000, output_tokens: 0 };
  await h.post("/v1/heartbeats", { agent: "research", customer_id: "acme", ...model });
  await h.worker.idle();
  const blocks = [...examplesOf("docs/SPEND.md"), ...examplesOf("docs/RATES.md")];
  const { code, output } = await paste(h, blocks);
  assertEquals(code, 0, output);
  const answers = output.trim().split("\n").map((line) => JSON.parse(line));
  const [byAgent, byDay, unpriced, match, price, job] = answers;
  assertEquals([byAgent.groups[0].key, byAgent.totals.cost_usd], ["research", 2.5]);
  assertEquals([byDay.totals.cost_usd, unpriced.models], [2.5, []]);
  assertEquals([match.row.model, match.row.input_usd_per_million], ["gpt-4o", 2.5]);
  assertEquals(price.input_usd_per_million, 2);
  await h.worker.idle();
  const { state, difference_usd } = (await h.get(`/v1/rate-card/reprice/${job.id}`)).json;
  assertEquals([state, difference_usd], ["done", -0.5]);
});

Harness.test("the commands of the document on traces send a span, and show its run with its cost", async (h) => {
  const { code, output } = await paste(h, examplesOf("docs/CONNECT.md"));
  assertEquals(code, 0, output);
  const { agent, closed_by, cost_usd } = JSON.parse(output.replace("{}", ""));
  assertEquals([agent, closed_by, cost_usd], ["researcher", "trace", 0.0064]);
});

Deno.test("no shell block of these has a comment, which an interactive zsh would pass as arguments", () => {
  for (const path of ["README.md", "docs/API.md"]) {
    const text = Deno.readTextFileSync(new URL(path, root));
    for (const [, block = ""] of text.matchAll(/```sh\n(.*?)```/gs)) {
      assert(!/(^|\s)#/m.test(block), block);
    }
  }
});
