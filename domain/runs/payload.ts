/**
 * How much of the payload of a run is still stored.
 *
 * @module
 */
import type { EventLedger } from "./ledger.ts";

/** What of a run's ledger matters here. */
export type LedgerAges = Pick<EventLedger, "oldestAt" | "latestAt" | "scores">;

/** How much of a run's payload is still there. */
export type PayloadState = "whole" | "partly_removed" | "removed";
