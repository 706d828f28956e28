/** The short form of the recorded workload, and what finds a difference. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { ENDPOINTS } from "../../../routes/api/endpoints.ts";
import { exampleFor } from "../../../routes/openapi/document.ts";
import { record } from "../../assurance/workload/main.ts";
import { numbering } from "../../assurance/workload/names.ts";
import { readAll } from "../../assurance/workload/reads.ts";
import { differences, Recording } from "../../assurance/workload/record.ts";

/** Calls of the short form. */
const CALLS = 150;

async function recorded() {
  const lines: string[] = [];
  return { digest: await record(CALLS, (line) => lines.push(line)), lines };
}

Deno.test("workload: the same calls get the same answers, messages and rows, in any time zone", async () => {
  const once = await recorded();
  const zone = Deno.env.get("TZ");
  Deno.env.set("TZ", "Asia/Kathmandu");
  try {
    assertNotEquals(new Date().getTimezoneOffset(), 0);
    const again = await recorded();
    assertEquals(again.lines.filter((line, n) => line !== once.lines[n]), []);
    assertEquals(again.digest, once.digest);
  } finally {
    if (zone === undefined) Deno.env.delete("TZ");
    else Deno.env.set("TZ", zone);
  }
  const { sections } = once.digest;
  for (const name of ["calls api", "calls runs", "messages api", "reads api", "rows run summary"]) {
    assert((sections[name]?.lines ?? 0) > 0, `${name} of ${Object.keys(sections)}`);
  }
  const verified = once.lines.filter((line) => line.startsWith("verify"));
  for (const line of verified) assertMatch(line, /"differences":\[\],"differenceCount":0}/);
  for (const line of verified) assert(!line.includes('"busy"'), line);
});

Deno.test("workload: a difference is found by its thousand of calls and its section", () => {
  const digestOf = (answer: number, value: string, more: readonly string[] = []) => {
    const recording = new Recording(() => {});
    for (let n = 0; n < 2_500; n++) recording.addCall("calls runs", `${n === answer} ${n}`);
    recording.add("rows agent", value);
    for (const each of more) recording.add("rows more", each);
    return recording.digest("1", 2_500);
  };
  const before = digestOf(-1, "same");
  assertEquals(differences(before, digestOf(-1, "same")), []);
  assertEquals(differences(before, digestOf(1_700, "other", ["new"])), [
    "calls 1001 to 2000, maybe later ones",
    "calls runs, lines before: 2,500, now: 2,500",
    "rows agent, lines before: 1, now: 1",
    "rows more, lines before: 0, now: 1",
  ]);
});

Deno.test("workload: names that the service draws are numbered in their order", () => {
  const renamed = numbering();
  const hex = "ff".repeat(16);
  assertEquals(
    renamed(`run_eu_${hex} key_eu_${hex} run_eu_${hex.replace("f", "e")}`),
    [
      ...["run_eu_#1", "key_eu_#1", "run_eu_#2"],
    ].join(" "),
  );
  const row = "01M7YZMHG0".padEnd(26, "0");
  assertEquals(renamed(`rate_${row} run_eu_${hex}`), "rate_#1 run_eu_#1");
  assertEquals(renamed(row.replace("M", "N"), "audit_log"), "#audit_log 1");
  assertEquals(renamed(`{"cursor":"eyJhIjoxfQ"} ?cursor=eyJhIjoxfQ`), `{"cursor":"#1"} ?cursor=#1`);
  assertEquals(renamed(`"etag":"\\"abc=\\""`), `"etag":"\\"#1\\""`);
  const sent = `run_eu_${"1".padStart(32, "0")}`;
  assertEquals(renamed(sent), sent, "an id that the client chose");
});

Deno.test("workload: everything that the API shows is read", async () => {
  const paths: string[] = [];
  await readAll(
    (path) => {
      paths.push(path);
      const shown = ENDPOINTS.find((each) =>
        each.method === "GET" && each.path === path.split("?")[0]
      );
      return Promise.resolve(JSON.stringify(shown && exampleFor(shown).answer || {}));
    },
    true,
    ["01KAK7ZJ5V76GRSDBZG2T155Y0"],
  );
  const unread = ENDPOINTS.filter(({ method, path }) => {
    const pattern = new RegExp(
      `^${path.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/?]+")}(\\?|$)`,
    );
    return method === "GET" && !paths.some((each) => pattern.test(each));
  });
  assertEquals(unread.map(({ path }) => path), [
    "/v1/live",
    "/v1/ping",
    "/metrics",
    "/openapi.json",
    "/docs",
  ]);
});
