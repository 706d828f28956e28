/**
 * The read scope of the work under way. It travels with the work, so that every read is counted and ends
 * with its request, without each function on the way naming it.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { ReadScope, type ReadScopes } from "../../domain/core/read_scope.ts";

const current = new AsyncLocalStorage<ReadScope | null>();

/** Runs work within a scope. */
export const readScopes: ReadScopes = { run: (scope, work) => current.run(scope, work) };

/** Returns the scope of the work under way; null outside a request's reads. */
export function currentScope(): ReadScope | null {
  return current.getStore() ?? null;
}

/** Runs work outside any scope: work that several requests share must not end with one of them. */
export function outsideScope<T>(work: () => T): T {
  // Its own `exit` keeps the scope on this runtime.
  return current.run(null, work);
}

/** Returns whether the work under way has been ended. */
export function isEnded(): boolean {
  return current.getStore()?.signal.aborted ?? false;
}

/** Throws the reason when the work under way has been ended. */
export function throwIfEnded(): void {
  current.getStore()?.signal.throwIfAborted();
}

/** Counts rows that were read, and the bytes of their values. */
export function countRead(entries: readonly { readonly value: unknown }[]): void {
  const scope = currentScope();
  if (scope === null) return;
  let bytes = 0;
  for (const { value } of entries) if (value instanceof Uint8Array) bytes += value.length;
  scope.count(entries.length, bytes);
}

/** Counts bytes that a value has once inflated. */
export function countBytes(bytes: number): void {
  current.getStore()?.count(0, bytes);
}
