/** The stages behind a run's cost that have work to do: none yet, so all of them are skipped. */
import type { StageHandlers } from "./worker.ts";

export const STAGE_HANDLERS: StageHandlers = new Map();
