/** Counting of lines of code, and the files that are counted. */
import { assert, assertEquals } from "@std/assert";
import { countFolders, countLines, lineTable } from "../../../tools/count_lines.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

Deno.test("lines: blank lines and comments do not count, code followed by a comment does", () => {
  const source = [
    "/** A comment",
    " * of three lines.",
    " */",
    "const a = 1; // counts",
    "",
    "  // not this",
    "/* nor this */",
    "  {/* nor this in a page */}",
    "const b = `",
    "`;",
  ];
  assertEquals(countLines(source.join("\n")), 3);
  assertEquals(countLines(""), 0);
});

Deno.test("lines: sources outside tests are counted by top-level folder", async () => {
  await withFolder(async (folder) => {
    const files: Record<string, string> = {
      "main.ts": "a;\n",
      "kv/base/keys.ts": "a;\nb;\n",
      "kv/page.tsx": "a;\n",
      "kv/keys_test.ts": "a;\n",
      "kv/notes.md": "a\n",
      "tests/unit/a.ts": "a;\n",
      ".hidden/a.ts": "a;\n",
    };
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${folder}/${path.replace(/[^/]*$/, "")}`, { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    assertEquals(
      new Map([...await countFolders(`${folder}/`)].sort()),
      new Map([["kv", 3], ["main.ts", 1]]),
    );
  });
});

Deno.test("lines: the total of the project is the sum of its folders", async () => {
  const rows = (await lineTable()).split("\n").slice(2).map((row) => {
    const [, name = "", lines = ""] = row.split("|").map((cell) => cell.trim());
    return [name, Number(lines.replaceAll(",", ""))] as const;
  });
  const total = rows.pop();
  assertEquals(total, ["total", rows.reduce((sum, [, lines]) => sum + lines, 0)]);
  for (const folder of ["domain", "kv", "routes", "main.ts"]) {
    assert(rows.some(([name]) => name === folder), folder);
  }
});
