/** The cache of active agents, and that every process notices an archive. */
import { assertEquals } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { createRunStore } from "../../../kv/runs/run_store.ts";
import { createArchiveCommit } from "../../../kv/monitors/store.ts";
import { TeamCommit } from "../../../kv/summaries/team_commit.ts";
import type { Store } from "../../../kv/store.ts";
import { createAgentStore } from "../../../kv/agents/agents.ts";
import { Memory } from "../../../runtime/memory.ts";
import { KnownAgents } from "../../../kv/agents/known_agents.ts";
import { finish, open, TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const TEAM_ID = "team" as TeamId;

/** State of one process, with a test clock. */
class Process {
  nowMs = 0;
  readonly known = new KnownAgents(new Memory(), () => this.nowMs);
  readonly runs;
  readonly agents;

  constructor(store: Store) {
    const card = { card: () => ({ find: () => null }) };
    this.runs = createRunStore(store, card, this.known);
    const commitArchive = createArchiveCommit(store, new TeamCommit(store, null));
    this.agents = createAgentStore(store, this.known, commitArchive);
  }

  async isArchived(): Promise<boolean | undefined> {
    return (await this.agents.read(TEAM, "a"))?.archived;
  }
}

const MADE = { by: "key_1", at: 0 };
const archive = (process: Process) => process.agents.change(TEAM, "a", archived, MADE);
const archived = { archived: true, name: undefined, notes: undefined };

Deno.test("known agents: an archive takes effect immediately here and within 10 seconds elsewhere", async () => {
  for (const idleMs of [10_000, 60_000]) {
    await using temp = await TempStore.open();
    const [here, there] = [new Process(temp.store), new Process(temp.store)];
    await open(here.runs, 1);
    await open(there.runs, 2);
    await archive(there);
    assertEquals(await here.isArchived(), true);
    await open(there.runs, 3);
    assertEquals(await here.isArchived(), false, "the process itself knows it at once");
    await archive(there);
    here.nowMs += idleMs;
    await open(here.runs, 4);
    assertEquals(await here.isArchived(), false, "the other one after a while");
  }
});

TempStore.test("known agents: a process that is never idle refreshes with one call at intervals", async (temp) => {
  const [here, there] = [new Process(temp.store), new Process(temp.store)];
  await open(here.runs, 1);
  await archive(there);
  let noticedAt = -1;
  for (let n = 2; n < 22 && noticedAt < 0; n++) {
    here.nowMs += 500;
    await open(here.runs, n);
    if (await here.isArchived() === false) noticedAt = here.nowMs;
  }
  assertEquals(noticedAt, 4_000);
});

TempStore.test("known agents: a call of a known agent reads no agent rows", async (temp) => {
  const read: Deno.KvKey[] = [];
  const reader = replaced(temp.store.reader, {
    getMany: (keys: Deno.KvKey[]) => {
      read.push(...keys);
      return temp.store.reader.getMany(keys);
    },
  });
  const process = new Process({ ...temp.store, reader });
  await open(process.runs, 1);
  read.length = 0;
  for (let n = 2; n < 10; n++) await open(process.runs, n);
  await finish(process.runs, 2);
  assertEquals(read, []);
});

Deno.test("known agents: a result read before an archive is not cached after it", () => {
  const knownAgents = new KnownAgents(new Memory(), () => 0);
  const before = knownAgents.noteVersion(TEAM_ID, null, 0);
  knownAgents.noteVersion(TEAM_ID, "02", 0);
  knownAgents.add(TEAM_ID, "a", before);
  assertEquals([knownAgents.has(TEAM_ID, "a"), knownAgents.hasOrRecheck(TEAM_ID, "a")], [
    false,
    false,
  ]);
  // A late result is outdated, too.
  knownAgents.add(TEAM_ID, "a", knownAgents.noteVersion(TEAM_ID, "01", 0));
  assertEquals(knownAgents.has(TEAM_ID, "a"), false);
  knownAgents.add(TEAM_ID, "a", knownAgents.noteVersion(TEAM_ID, "02", 0));
  assertEquals(knownAgents.has(TEAM_ID, "a"), true);
});
