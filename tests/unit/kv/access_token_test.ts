import { assertEquals, assertRejects } from "@std/assert";
import { withAccessToken } from "../../../kv/open.ts";

const NAME = "DENO_KV_ACCESS_TOKEN";

/** Returns the token that the runtime would read. */
const current = () => Promise.resolve(Deno.env.get(NAME));

Deno.test("access token: it is in the runtime's variable only while the store is opened", async () => {
  assertEquals(await withAccessToken("secret", current), "secret");
  assertEquals(await current(), undefined);
  await assertRejects(() => withAccessToken("secret", () => Promise.reject(new Error("refused"))));
  assertEquals(await current(), undefined);
});

Deno.test("access token: without one, the runtime's variable stays as it is", async () => {
  Deno.env.set(NAME, "own");
  try {
    assertEquals(await withAccessToken(null, current), "own");
    assertEquals(await current(), "own");
  } finally {
    Deno.env.delete(NAME);
  }
});
