/** The README's commands, pasted in a fresh clone, do what the README says. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Output } from "../../support/harness/output.ts";
import { isInstalled } from "../../support/harness/commands.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

const KEY = "apk_eu_0123456789abcdef0123456789abcdef";

/** A checkout has a history to clone; an archive has none. */
const isCheckout = isInstalled("git") &&
  new Deno.Command("git", { args: ["-C", ROOT, "rev-parse", "HEAD"] }).outputSync().success;

/** The runtime of this test stands for the one that npm would download. */
function pasteable(text: string): string {
  return text.replaceAll(/npx -y deno@[\d.]+|\bdeno(?= task)/g, Deno.execPath());
}

function shell(script: string, folder: string, env: Record<string, string>) {
  return new Deno.Command("sh", {
    args: ["-c", script],
    cwd: folder,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

async function outputOf(command: Deno.Command): Promise<string> {
  const { code, stdout, stderr } = await command.output();
  const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals(code, 0, `${output}${errors}`);
  return output ?? "";
}

Deno.test({
  name: `a newcomer follows the README in a fresh clone${isCheckout ? "" : " (skipped: no git)"}`,
  ignore: !isCheckout,
  fn: async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "runledger-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const readme = Deno.readTextFileSync(`${ROOT}README.md`);
    const [clone = "", start = "", ping = "", run = "", ...others] = [
      ...readme.matchAll(/```sh\n(.*?)```/gs),
    ].map(([, block = ""]) => pasteable(block));
    // The next block has the other form of this start.
    const [cloning = "", first = ""] = clone.trim().split("\n");
    assertEquals(first, start.trim());
    await outputOf(shell(cloning, folder, { REPOSITORY: ROOT }));
    const cwd = `${folder}/runledger`;
    // The shell becomes the command, so that its end is the server's.
    const child = shell(`exec ${first}`, cwd, { PORT: "0", NO_COLOR: "1" }).spawn();
    const [stdout, stderr] = [new Output(child.stdout), new Output(child.stderr)];
    const [, link = "", url = ""] =
      (await stderr.match(/Dashboard: ((http:\S+)\/dashboard\/sign-in\?code=\S+)\n/)) ?? [];
    assert(link !== "", stderr.text);
    stack.defer(async () => {
      child.kill("SIGTERM");
      await Promise.all([child.status, stdout.done, stderr.done]);
    });
    const paste = (block: string) =>
      outputOf(shell(block.replaceAll("http://127.0.0.1:8000", url), cwd, {}));

    const signIn = await fetch(link, { redirect: "manual" });
    assertEquals([signIn.status, await signIn.text()], [303, ""]);
    assertStringIncludes(signIn.headers.get("set-cookie") ?? "", "runledger");

    assertEquals(await paste(ping), "OK\n");
    const output = await paste(`${run}\n${calls(run)}`);
    const [id = ""] = /run_eu_[0-9a-f]{32}/.exec(output) ?? [];
    const answers = output.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(answers[0].status, "running");
    assertEquals(answers[1], { accepted: 1, duplicates: 0 });
    const [record, ...again] = answers.slice(3);
    assertEquals([record.id, record.status, record.cost_usd], [id, "success", 0.0064]);
    assertEquals([record.usage.input_tokens, record.usage.output_tokens], [1_200, 340]);
    assertEquals([record.output, record.scores[0].name], [{ answer: 42 }, "quality"]);
    assert(record.duration_ms > 0, "a run lasts");
    // The same lines again change nothing.
    assertEquals(again[1], { accepted: 0, duplicates: 1 });
    assertEquals(again.at(-1), record);

    const demo = pasteable(/`(deno task demo)`/.exec(readme)?.[1] ?? "");
    const told = await outputOf(shell(demo, cwd, { PORT: new URL(url).port }));
    assertStringIncludes(told, "Sent ");
    const K = `K="Authorization: Bearer ${KEY}"\n`;
    const curls = others.filter((block) => block.startsWith("curl "));
    assertEquals(curls.length, 2);
    for (const block of curls) await paste(K + block);
    for (const page of ["/docs", "/openapi.json", "/dashboard"]) {
      const { status, body } = await fetch(url + page);
      await body?.cancel();
      assertEquals(status, 200, page);
    }
  },
});

/** The calls of a block, without the lines that make new ids. */
function calls(block: string): string {
  return block.split("\n").filter((line) => line.startsWith("curl ")).join("\n");
}
