/** Tests the metrics of the real program, as a scraper with the operator's key reads them. */
import { assert, assertEquals } from "@std/assert";
import { VERSION } from "../../../domain/core/version.ts";
import { Process } from "../../support/harness/process.ts";
import { Scrape } from "../../support/oracles/prometheus.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

const OPERATOR_KEY = `opk_eu_${"0f".repeat(16)}`;

inFolder.test("metrics: the operator's key reads requests, store and process of a running program", async (folder) => {
  const path = `${folder}/test.kv`;
  const settings = { RUNLEDGER_KV: path, RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY };
  await using process = await Process.start(settings);
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };
  const texts: string[] = [];
  for (let n = 0; n < 2; n++) {
    texts.push(await (await fetch(`${process.url}/metrics`, { headers })).text());
  }
  const scrape = new Scrape(texts[1] ?? "");
  const first = { method: "GET", route: "/metrics", status: "200" };
  assertEquals(scrape.value("runledger_http_requests_total", first), 1);
  assertEquals(scrape.value("runledger_store_up"), 1);
  assertEquals(scrape.value("runledger_kv_file_bytes"), (await Deno.stat(path)).size);
  assert((scrape.value("process_resident_memory_bytes") ?? 0) > 10_000_000);
  assert((scrape.value("process_cpu_seconds_total") ?? 0) > 0);
  const startMs = 1_000 * (scrape.value("process_start_time_seconds") ?? 0);
  assert(Math.abs(Date.now() - startMs) < 60_000);
  const { deno, v8 } = Deno.version;
  assertEquals(
    scrape.value("runledger_build_info", { version: VERSION, deno, v8, region: "eu" }),
    1,
  );
  const documents = ["../../../ops/alerts.yml", "../../../docs/MONITORING.md"];
  for (const document of documents) {
    const whole = await Deno.readTextFile(new URL(document, import.meta.url));
    // A team's own metrics are not the process's.
    const text = whole.replace(/team key with scope `read` sees [^]*?In `prometheus.yml`/, "");
    const names = new Set(text.match(/(?<![\w/])(runledger|process)_\w+(?=[`{\[, >])/g));
    assert(names.size >= 9, document);
    for (const name of names) {
      assert(texts[1]?.includes(`# TYPE ${name} `), `${document}: no metric ${name}`);
    }
  }
  assert(!texts.some((text) => text.includes(OPERATOR_KEY)));
  assertEquals((await process.stop("SIGINT")).code, 0);
});
