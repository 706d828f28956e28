/**
 * Tests the service while its disk or file fails; `deno task assure chaos` has more such faults.
 */
import { diskFull, startOnFullDisk } from "../../assurance/chaos/disks.ts";
import { fileDamaged, filesMoved, storeLocked } from "../../assurance/chaos/files.ts";
import { denokvRestoreDrill, restoreDrill } from "../../assurance/chaos/restore.ts";
import { denokvCommand } from "../../support/fakes/denokv.ts";
import { diskKinds } from "../../support/harness/small_disk.ts";

const kinds = await diskKinds();
const [disk] = kinds;
const why = disk === undefined ? " (skipped: neither mount nor prlimit work here)" : ` (${disk})`;
const denokv = denokvCommand();
const noDenokv = denokv === null ? " (skipped: denokv is not installed)" : "";
const noMount = kinds.includes("tmpfs") ? "" : " (skipped: a tmpfs cannot be mounted here)";

Deno.test({
  name:
    `disk full: 503 and nothing stored partially, and calls are accepted again with space${why}`,
  ignore: disk === undefined,
  fn: async () => void await diskFull(disk ?? "tmpfs", 1_000),
});

Deno.test({
  name: `disk full at the start: exit code 4 and one line, which does not mention damage${noMount}`,
  ignore: noMount !== "",
  fn: async () => void await startOnFullDisk(),
});

Deno.test("store locked beyond the deadline: 503 for writes, then accepted again without a restart", async () => {
  await storeLocked(2_500);
});

Deno.test("folder moved away: no 202 until it is back, then accepted again without a restart", async () => {
  await filesMoved();
});

Deno.test("file damaged while open: a run is read completely or refused with 503, never missing", async () => {
  await fileDamaged();
});

Deno.test("backup under load, kill -9, restore despite the log that is left: exactly the backup", async () => {
  await restoreDrill();
});

Deno.test({
  name: `denokv: backup under load, kill -9, restore: exactly the backup${noDenokv}`,
  ignore: denokv === null,
  fn: async () => void await denokvRestoreDrill(denokv ?? ""),
});
