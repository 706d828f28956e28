/** Stores over a test's handles, built without the rest of a service. */
import { type Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { Memory } from "../../../runtime/memory.ts";
import type { RateCards } from "../../../domain/pricing/rate_card.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { type AgentStore, createAgentStore } from "../../../kv/agents/agents.ts";
import { KnownAgents } from "../../../kv/agents/known_agents.ts";
import { BACK_ENDS, type BackEnd } from "../../../kv/base/limits.ts";
import { createArchiveCommit } from "../../../kv/monitors/store.ts";
import { createRateCardStore } from "../../../kv/rate_cards/rate_cards.ts";
import { createRunStore } from "../../../kv/runs/run_store.ts";
import { createStore, type Store } from "../../../kv/store.ts";
import {
  createProcessingStore,
  type ProcessingStore,
} from "../../../kv/summaries/processing_store.ts";
import { TeamCommit } from "../../../kv/summaries/team_commit.ts";
import { GroupWriter, WorkerSignal, type Writer } from "../../../kv/writer/writer.ts";

/** Creates a writer over a handle, alone. */
export function writerOver(
  kv: Deno.Kv,
  reader: Deno.Kv = kv,
  limits: BackEnd = BACK_ENDS.embedded,
  deadlines: Deadlines | null = null,
  memory: Memory = new Memory(),
): Writer {
  return new GroupWriter({ kv, reader, limits, deadlines, ...alone(), memory });
}

/** Creates a store over two handles, as a separate process does. */
export function storeOver(
  kv: Deno.Kv,
  reader: Deno.Kv,
  limits: BackEnd,
  deadlines: Deadlines,
): Store {
  return createStore({ kv, reader, limits, deadlines, fileBytes: () => null, ...alone() });
}

function alone() {
  return { workerSignal: new WorkerSignal(), inPlace: () => true, memory: new Memory() };
}

/** Creates a run store with the rate cards in the store, as a separate process does. */
export function runStoreOf(
  store: Store,
  cards: RateCards = createRateCardStore(store, { now: () => Date.now() }),
): RunStore {
  return createRunStore(store, cards, new KnownAgents(store.memory, TIMERS.now));
}

/** Creates an agent store, as a separate process does. */
export function agentStoreOf(store: Store): AgentStore {
  const known = new KnownAgents(store.memory, TIMERS.now);
  return createAgentStore(store, known, createArchiveCommit(store, new TeamCommit(store, null)));
}

/** Creates the worker's store, as a separate process does. */
export function processingOf(
  store: Store,
  now: () => number,
  updater: TeamCommit = new TeamCommit(store, null),
): ProcessingStore {
  return createProcessingStore({ store, updater, now });
}
