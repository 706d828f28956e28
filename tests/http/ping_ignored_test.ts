/** Parameters that a ping does not know: ignored, and shown everywhere (R24). */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Harness } from "../support/harness/harness.ts";

Harness.test("R24: an unknown parameter is named in the answer, on the run and its page, and is counted", async (h) => {
  const sent = await h.get("/v1/ping?agent=cron&exitcode=1");
  assertEquals([sent.status, sent.text], [200, "OK ignored exitcode, did you mean exit_code?\n"]);
  assertEquals(sent.headers.get("runledger-ignored"), "exitcode");
  const id = sent.headers.get("x-run-id");
  const run = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals([run.status, run.flags, run.ignored], ["success", ["ignored_fields"], ["exitcode"]]);

  const { counts, latest: [noted] } = (await h.get("/v1/refusals")).json;
  assertEquals(counts, [{ day: "2026-11-21", code: "ignored_parameter", count: 1 }]);
  const { code, field, agent, message } = noted;
  assertEquals([code, field, agent], ["ignored_parameter", "exitcode", "cron"]);
  assertEquals(message, "ignored exitcode, did you mean exit_code?");

  const json = await h.get("/v1/ping?agent=cron&exitcode=1&foo=&agent=b&&=&=x", {
    headers: { Accept: "application/json" },
  });
  assertEquals(json.json.ignored, ["exitcode", "foo", "(empty)"]);
  const head = await h.request("HEAD", "/v1/ping?agent=cron&exitcode=1");
  assertEquals([head.status, head.text], [200, ""]);
  assertEquals(head.headers.get("runledger-ignored"), "exitcode");
  const known = await h.get("/v1/ping?agent=cron&exit_code=0&rid=1&metadata=");
  assertEquals([known.text, known.headers.get("runledger-ignored")], ["OK\n", null]);
});

Harness.test("R24: an ignored parameter and a wrong monitor are one line each; values are never shown", async (h) => {
  const secret = `apk_eu_${"b".repeat(32)}`;
  const sent = await h.get(`/v1/ping?agent=cron&exitcode=hunter2&${secret}&every=1w`);
  const [first, second, ...others] = sent.text.split("\n");
  assertEquals(
    first,
    "OK ignored exitcode, did you mean exit_code? ignored (credential)",
  );
  assertStringIncludes(second ?? "", "no monitor: every must be");
  assertEquals(others, [""]);
  const rows = JSON.stringify(await h.dump());
  assertEquals([rows.includes("hunter2"), rows.includes("b".repeat(32))], [false, false]);
});

Harness.test("R24: of many unknown parameters ten are named, each by 40 characters", async (h) => {
  const names = Array.from({ length: 30 }, (_, n) => `${n}${"x".repeat(60)}`);
  const sent = await h.get(`/v1/ping?agent=cron&${names.join("&")}`);
  const id = sent.headers.get("x-run-id");
  const { ignored } = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals(ignored, [...names.slice(0, 10).map((name) => name.slice(0, 40)), "(other)"].sort());
});
