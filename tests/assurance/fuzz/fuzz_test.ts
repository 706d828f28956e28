/** A short run on each push: once the same as ever, once as nobody has seen it before. */
import { assert, assertEquals } from "@std/assert";
import { withFolder } from "../../support/harness/temp_store.ts";
import { fuzz } from "./fuzz.ts";
import { Service } from "./service.ts";

/** Requests of each run; the next million is `deno task assure fuzz`. */
const COUNT = 6_000;

const SEEDS = ["1", String(crypto.getRandomValues(new Uint32Array(1))[0])];

for (const seed of SEEDS) {
  Deno.test(`fuzz: hostile input, seed ${seed}: no 5xx, no hang, and nothing stored of what is refused`, async () => {
    await withFolder(async (folder) => {
      await using service = await Service.start(folder);
      const { tally } = await fuzz(service, COUNT, seed);
      assertEquals(tally.broken, []);
      // Good requests are among them: what refuses everything keeps all promises.
      const told = (kind: string, status: string) => tally.statuses.get(kind)?.get(status) ?? 0;
      assert(told("fields", "202") > 100, "nothing was taken");
      assert(told("pages", "200") > 50 && told("pages", "303") > 20, "no page was shown");
      assertEquals(await service.stop(), 0);
    });
  });
}
