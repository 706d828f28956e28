/** The programs in `examples/` do what they say, against a service that also loses an answer. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { NO_EGRESS, parseEgress } from "../../outbound/http.ts";
import { answer, Receiver } from "../support/fakes/receiver.ts";
import { isInstalled } from "../support/harness/commands.ts";
import { Harness } from "../support/harness/harness.ts";

const FOLDER = new URL("../../examples/", import.meta.url);

const LINES_MAX = 40;

const ENDED = { code: 0, stdout: "", stderr: "" };

async function run(url: string, key: string, [command = "", ...args]: string[], env = {}) {
  const { code, ...output } = await new Deno.Command(command, {
    args,
    cwd: FOLDER,
    env: { RUNLEDGER_URL: url, RUNLEDGER_KEY: key, ...env },
  }).output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(output.stdout), stderr: text.decode(output.stderr) };
}

/** True if Node.js runs TypeScript without a flag. */
function isNodeNew(): boolean {
  if (!isInstalled("node")) return false;
  const { stdout } = new Deno.Command("node", { args: ["--version"] }).outputSync();
  const [major = 0, minor = 0] = new TextDecoder().decode(stdout).slice(1).split(".").map(Number);
  return major > 22 || major === 22 && minor >= 18;
}

/** Serves a service, but answers the first batch of events with 502 after it was stored. */
function losingAnswers(h: Harness): Deno.HttpServer<Deno.NetAddr> {
  let lost = 0;
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const { method, headers } = request;
    const { status, text } = await h.request(method, pathname, {
      key: headers.get("authorization")?.slice("Bearer ".length) ?? null,
      body: await request.text(),
    });
    const isLost = pathname.endsWith("/events") && lost++ === 0;
    return new Response(text, { status: isLost ? 502 : status });
  });
}

Deno.test("examples: each is short", () => {
  for (const { name } of Deno.readDirSync(FOLDER)) {
    const lines = Deno.readTextFileSync(new URL(name, FOLDER)).split("\n").length - 1;
    assert(lines <= LINES_MAX, `${name} has ${lines} lines`);
  }
});

Deno.test("examples: each does what it says", async (t) => {
  const messages: string[] = [];
  let arrived = Promise.withResolvers<void>();
  await using chat = new Receiver((connection, request) => {
    messages.push(request.body);
    arrived.resolve();
    return answer(200, {}, "ok")(connection, request);
  });
  const egress = parseEgress("127.0.0.0/8") ?? NO_EGRESS;
  await using h = await Harness.open({ egress });
  h.nowMs = Date.now();
  const runsOf = async (agent: string) => (await h.getFinal(`/v1/runs?agent=${agent}`)).json.runs;

  await t.step("cron.sh reports an exit code, passes it on, and creates a monitor", async () => {
    const job = await run(h.url, h.key, ["sh", "cron.sh", "backup", "sh", "-c", "exit 3"]);
    assertEquals(job, { ...ENDED, code: 3 });
    const [failed, ...others] = await runsOf("backup");
    assertEquals([failed.status, others.length], ["failed", 0]);
    const { schedule } = (await h.get("/v1/agents/backup/monitor")).json;
    assertEquals(schedule, { cron: "0 2 * * *", tz: "Europe/Berlin" });
    assertEquals(await run(h.url, h.key, ["sh", "cron.sh", "backup", "true"]), ENDED);
    const statuses = (await runsOf("backup")).map(({ status }: { status: string }) => status);
    assertEquals(statuses.sort(), ["failed", "success"]);
    // Cron mails the reason of a refusal.
    const { stdout } = await run(h.url, "ping_eu_0", ["sh", "cron.sh", "backup", "true"]);
    assertStringIncludes(stdout, "invalid_credential This needs");
  });

  const programs = [
    { command: ["python3", "record.py"], isHere: isInstalled("python3") },
    { command: [Deno.execPath(), "run", "-N", "-E", "record.ts"], isHere: true },
    { command: ["node", "record.ts"], isHere: isNodeNew() },
  ];
  for (const { command, isHere } of programs) {
    const name = `${command.at(-1)} by ${command[0]?.split("/").at(-1)}`;
    await t.step({
      name: `${name} records a run once although an answer is lost${isHere ? "" : " (skipped)"}`,
      ignore: !isHere,
      fn: async () => {
        await using service = losingAnswers(h);
        const before = (await runsOf("summarizer")).length;
        const url = `http://127.0.0.1:${service.addr.port}`;
        assertEquals(await run(url, h.key, command), ENDED);
        const [{ id }, ...others] = await runsOf("summarizer");
        assertEquals(others.length, before);
        const { status, usage, cost_usd, output, events } = (await h.get(`/v1/runs/${id}`)).json;
        assertEquals([status, usage.input_tokens, usage.output_tokens], ["success", 1_200, 340]);
        assertEquals([cost_usd, output, events.length], [0.0064, { answer: 42 }, 1]);
      },
    });
  }

  await t.step("github-actions.yml reports a job once", async () => {
    const text = await Deno.readTextFile(new URL("github-actions.yml", FOLDER));
    const script = text.split("run: |\n")[1]?.replaceAll(/^ {10}/gm, "") ?? "";
    const STARTED = new Date(h.nowMs - 90_000).toISOString();
    const job = { GITHUB_RUN_ID: "7", GITHUB_RUN_ATTEMPT: "1", STARTED };
    for (const STATUS of ["failure", "failure"]) {
      const { code, stdout } = await run(h.url, h.key, ["sh", "-c", script], { ...job, STATUS });
      assertEquals([code, stdout], [0, "OK\n"]);
    }
    const [{ status, duration_ms }, ...others] = await runsOf("nightly");
    assertEquals([status, duration_ms, others.length], ["failed", 90_000, 0]);
  });

  await t.step("slack.sh sends a test, then each failure", async () => {
    const { code, stdout, stderr } = await run(h.url, h.key, ["sh", "slack.sh"], {
      SLACK_URL: chat.url,
    });
    assertEquals([code, stderr], [0, ""], stdout);
    assertStringIncludes(messages.join(), "Test of this channel");
    arrived = Promise.withResolvers();
    await h.post("/v1/heartbeats", { agent: "billing", status: "fail" });
    await h.worker.idle();
    // Chats wait so long for more messages.
    h.nowMs += 10_000;
    await arrived.promise;
    assertStringIncludes(messages.at(-1) ?? "", "billing failed");
  });
});
