import { assertEquals, assertStringIncludes } from "@std/assert";
import { inFolder } from "../support/harness/temp_store.ts";

const RUN = new URL("../run.ts", import.meta.url).pathname;

/** Runs the tests below a folder, as `deno task test FOLDER` does. */
async function runTests(folder: string) {
  const args = ["run", "--no-prompt", "-A", RUN, folder];
  const env = { NO_COLOR: "1" };
  const { code, stdout } = await new Deno.Command(Deno.execPath(), { args, env }).output();
  return { code, text: new TextDecoder().decode(stdout) };
}

inFolder.test("test: all files of a folder run in one isolate, and a failed test fails the command", async (folder) => {
  const aTest = (name: string, body: string) =>
    Deno.writeTextFile(`${folder}/${name}_test.ts`, `Deno.test("${name}", () => {${body}});\n`);
  await aTest("first", "globalThis.name = 'set by the first'");
  await aTest("second", "if (globalThis.name !== 'set by the first') throw new Error('alone')");
  const { code, text } = await runTests(folder);
  assertEquals(code, 0, text);
  assertStringIncludes(text, "| 2 passed | 0 failed");
  await aTest("third", "throw new Error('failed')");
  const failed = await runTests(folder);
  assertEquals(failed.code, 1, failed.text);
  assertStringIncludes(failed.text, "| 2 passed | 1 failed");
  assertStringIncludes(failed.text, "third_test.ts:1:6");
});
