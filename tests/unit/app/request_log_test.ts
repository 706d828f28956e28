/** The log over real pipes: bounded in bytes, and exact about dropped lines. */
import { assert, assertEquals } from "@std/assert";
import { LineLog } from "../../../app/request_log.ts";
import { run } from "../../support/harness/small_disk.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const BYTES_MAX = 500_000;
/** Total of several such lines. */
const LINES = 20_000;

/** A pipe with both ends. */
async function withPipe(
  test: (writer: Deno.FsFile, reader: Deno.FsFile) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/pipe`;
    await run("mkfifo", path);
    const [reader, writer] = await Promise.all([
      Deno.open(path),
      Deno.open(path, { write: true }),
    ]);
    await test(writer, reader);
  });
}

function lineOf(n: number): string {
  return `line ${n} ${"é".repeat(50)}`;
}

/** Reads the written lines until the end of the pipe. */
async function readAll(reader: Deno.FsFile): Promise<string[]> {
  return (await new Response(reader.readable).text()).trimEnd().split("\n");
}

/** The counter of dropped lines. */
function droppedBy(log: LineLog): number {
  return Number(log.families()[0]?.samples[0]?.value);
}

Deno.test("log: lines keep their order, and flush waits for them", async () => {
  await withPipe(async (writer, reader) => {
    const log = new LineLog(writer, BYTES_MAX);
    const read = readAll(reader);
    for (let n = 0; n < 1_000; n++) log.write(lineOf(n));
    assertEquals(await log.flush(10_000), true);
    assertEquals(log.bytes, 0);
    writer.close();
    assertEquals(await read, Array.from({ length: 1_000 }, (_, n) => lineOf(n)));
    assertEquals(droppedBy(log), 0);
  });
});

Deno.test("log: a stalled reader loses lines, not memory or time, and the log reports how many", async () => {
  await withPipe(async (writer, reader) => {
    const log = new LineLog(writer, BYTES_MAX);
    for (let n = 0; n < LINES; n++) {
      log.write(lineOf(n));
      assert(log.bytes <= BYTES_MAX, `${log.bytes} bytes wait`);
    }
    assertEquals(await log.flush(10), false);
    const dropped = droppedBy(log);
    assert(dropped > LINES / 2, `${dropped} of ${LINES} lines were dropped`);
    const read = readAll(reader);
    assertEquals(await log.flush(10_000), true);
    log.write("the next line");
    assertEquals(await log.flush(10_000), true);
    writer.close();
    const lines = await read;
    const notes = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    assertEquals(notes.map((note) => note.log_lines_dropped), [dropped]);
    const retained = lines.filter((line) => line.startsWith("line"));
    assertEquals(retained, Array.from({ length: LINES - dropped }, (_, n) => lineOf(n)));
    assertEquals(lines.at(-1), "the next line");
  });
});

Deno.test("log: a closed reader is counted and is not an error", async () => {
  await withPipe(async (writer, reader) => {
    const log = new LineLog(writer, BYTES_MAX);
    reader.close();
    for (let n = 0; n < 10; n++) log.write(lineOf(n));
    assertEquals(await log.flush(10_000), true);
    assertEquals([droppedBy(log), log.bytes], [10, 0]);
    writer.close();
  });
});

Deno.test("log: a line cut off by a failure does not run into the next line", async () => {
  const written: number[] = [];
  let freeBytes = 10;
  // Simulates a disk that accepts only part of a write.
  const disk = {
    write(bytes: Uint8Array): Promise<number> {
      const accepted = bytes.subarray(0, freeBytes);
      if (accepted.length === 0) return Promise.reject(new Error("No space left on device"));
      freeBytes -= accepted.length;
      written.push(...accepted);
      return Promise.resolve(accepted.length);
    },
  };
  const log = new LineLog(disk, BYTES_MAX);
  log.write("abcdef");
  log.write("ghijkl");
  await log.flush(1_000);
  freeBytes = 1_000;
  log.write("mnopqr");
  await log.flush(1_000);
  const [first, cut, next, note] = new TextDecoder().decode(Uint8Array.from(written)).split("\n");
  assertEquals([first, cut, next], ["abcdef", "ghi", "mnopqr"]);
  assertEquals(JSON.parse(note ?? "").log_lines_dropped, 1);
});
