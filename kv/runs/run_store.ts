/**
 * Stores runs in Deno KV, each operation within its deadline.
 *
 * @module
 */
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RunStore } from "../../domain/runs/store.ts";
import { inTime } from "../base/deadline.ts";
import { createAppend } from "./events.ts";
import type { KnownAgents } from "../agents/known_agents.ts";
import { readRun } from "./read.ts";
import { createRuns } from "./runs.ts";
import type { Store } from "../store.ts";

export function createRunStore(store: Store, cards: RateCards, known: KnownAgents): RunStore {
  const { append, drop } = createAppend(store, cards);
  const { finish, ...others } = createRuns(store, cards, known);
  return {
    // These have their own deadlines: the first attempt is one commit with the writer's deadline;
    // an attempt that reads first gets a further deadline of the same length.
    ...others,
    async finish(team, id, ...args) {
      const outcome = await finish(team, id, ...args);
      drop(team, id);
      return outcome;
    },
    append: (...args) => inTime(append(...args), store.deadlines),
    read: ({ id: team }, id, ...page) =>
      store.reads.run(team, () => readRun({ store, team, id }, ...page)),
  };
}
