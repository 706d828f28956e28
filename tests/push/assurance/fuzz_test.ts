/** A short run for each push, with a fixed seed. */
import { assert, assertEquals } from "@std/assert";
import { SEED } from "../../support/harness/seed.ts";
import { inFolder } from "../../support/harness/temp_store.ts";
import { fuzz } from "../../assurance/fuzz/fuzz.ts";
import { Service } from "../../assurance/fuzz/service.ts";

/** Requests of the run; `deno task assure fuzz` sends the next million. */
const COUNT = 6_000;

inFolder.test("fuzz: hostile input: no 5xx, no hang, and nothing stored from a refused request", async (folder) => {
  await using service = await Service.start(folder);
  const { counts } = await fuzz(service, COUNT, String(SEED));
  assertEquals(counts.broken, []);
  // Valid requests are among them: a service that refuses everything would keep all promises.
  const countOf = (kind: string, status: string) => counts.statuses.get(kind)?.get(status) ?? 0;
  assert(countOf("fields", "202") > 100, "nothing was taken");
  assert(countOf("pages", "200") > 50 && countOf("pages", "303") > 20, "no page was shown");
  assertEquals(await service.stop(), 0);
});
