/** The README's commands, pasted in a fresh clone, do what the README says. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Output } from "../../support/harness/output.ts";
import { isInstalled } from "../../support/harness/commands.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

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
    const [clone = "", start = "", ping = ""] = [
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
    const cookie = (signIn.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
    for (
      const [page, text] of [
        ["/docs", "openapi.json"],
        ["/openapi.json", "openapi"],
        ["/dashboard", "support-crew failed 3 times in a row"],
        ["/dashboard/agents", "nightly-backup"],
        ["/dashboard/runs", "nightly"],
      ] as const
    ) {
      const answer = await fetch(url + page, { headers: { Cookie: cookie } });
      assertStringIncludes(await answer.text(), text, page);
    }
  },
});
