/**
 * Tests that acknowledged writes survive kill -9, and that the next process finishes pending work.
 */
import { assert, assertEquals } from "@std/assert";
import { Rounds } from "../../assurance/crash/rounds.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

/** Acknowledged calls of each round before the kill: early, late, and in between. */
const ROUNDS = [1, 150, 20, 600, 60, 250];

inFolder.test("decisions, section 1: after kill -9 under load every acknowledged call is stored once and aggregated", async (folder) => {
  await using rounds = new Rounds(folder);
  let unfinished = 0;
  for (const [round, acknowledged] of ROUNDS.entries()) {
    await rounds.start();
    rounds.load();
    await rounds.reached(acknowledged / 2);
    const repricing = round % 2 > 0 ? rounds.book.price.ask(rounds.access) : null;
    assertEquals((await rounds.end("SIGKILL", acknowledged)).signal, "SIGKILL");
    await repricing;
    unfinished += await rounds.compareAll();
  }
  assert(unfinished > 0, "no kill left the worker pending work");
  await rounds.start();
  await rounds.audit();
  await rounds.verifyAll();
});
