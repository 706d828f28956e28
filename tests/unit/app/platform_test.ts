import { assert, assertEquals } from "@std/assert";
import { DENO_MIN, isSupported, platformOf } from "../../../app/platform.ts";

Deno.test("platform: DENO_DEPLOY alone decides, whatever its value", () => {
  for (const DENO_DEPLOY of ["1", "0", "false", ""]) {
    assert(platformOf({ DENO_DEPLOY }).isHosted, DENO_DEPLOY);
  }
  assert(!platformOf({ DENO_SERVE_ADDRESS: "tcp:0.0.0.0:80", DENO_DEPLOYMENT_ID: "x" }).isHosted);
});

Deno.test("platform: an instance of Deno Deploy ends and responds before the platform's limits", () => {
  const { drainMs, silentMsMax, memoryMb } = platformOf({ DENO_DEPLOY: "1" });
  const KILLED_MS = 5_000, IDLE_MS = 5_000, MEMORY_MB = 512;
  assert(drainMs < KILLED_MS && silentMsMax < IDLE_MS && memoryMb < MEMORY_MB);
});

Deno.test("platform: the least version of Deno is compared number by number", () => {
  const older = ["2.5.6", "2.4.9", "1.46.3"];
  const newer = [DENO_MIN, "2.5.8", "2.10.0", "3.0.0", "2.9.6+abc", "2.10.0-rc.1"];
  assertEquals(older.filter(isSupported), []);
  assertEquals(newer.filter((version) => !isSupported(version)), []);
});
