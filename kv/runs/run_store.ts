/**
 * Stores runs in Deno KV, each operation within its deadline.
 *
 * @module
 */
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RunStore } from "../../domain/runs/store.ts";
import { inTime } from "../base/deadline.ts";
import { createEvents } from "./events.ts";
import type { KnownAgents } from "../agents/known_agents.ts";
import { createReader } from "./read.ts";
import { createRuns } from "./runs.ts";
import type { Store } from "../store.ts";

/** Creates the store of runs. */
export function createRunStore(
  store: Store,
  cards: RateCards,
  known: KnownAgents,
): RunStore {
  const { append } = createEvents(store, cards);
  const { read } = createReader(store);
  return {
    // These have their own deadlines: the first attempt is one commit with the writer's deadline;
    // an attempt that reads first gets a further deadline of the same length.
    ...createRuns(store, cards, known),
    append: (...args) => inTime(append(...args), store.deadlines),
    read: (...args) => store.reads.run(args[0].id, () => read(...args)),
  };
}
