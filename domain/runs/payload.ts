/**
 * Retention state of a run's payload.
 *
 * @module
 */
import type { EventLedger } from "./ledger.ts";

/** Arrival times in a run's ledger, by which retention judges it. */
export type LedgerAges = Pick<EventLedger, "oldestAt" | "latestAt" | "scores">;

/** Retention state of a run's payload. */
export type PayloadState = "whole" | "partly_removed" | "removed";
