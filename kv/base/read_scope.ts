/**
 * Read scope of the current request. It is carried in async context, so that every read is counted
 * and ends with its request without passing the scope through every function.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { ReadScope, type ReadScopes } from "../../domain/core/read_scope.ts";

const current = new AsyncLocalStorage<ReadScope | null>();

export const readScopes: ReadScopes = { run: (scope, work) => current.run(scope, work) };

/** Returns the current scope; null outside a request's reads. */
export function currentScope(): ReadScope | null {
  return current.getStore() ?? null;
}

/** Runs work outside any scope: work shared by several requests must not end with one of them. */
export function outsideScope<T>(work: () => T): T {
  // `AsyncLocalStorage.exit` does not clear the scope on this runtime.
  return current.run(null, work);
}

/** Returns whether the current work was aborted. */
export function isEnded(): boolean {
  return current.getStore()?.signal.aborted ?? false;
}

/** Throws the abort reason if the current work was aborted. */
export function throwIfEnded(): void {
  current.getStore()?.signal.throwIfAborted();
}

/** Counts the rows of a read and the bytes of their values. */
export function countRead(entries: readonly { readonly value: unknown }[]): void {
  const scope = currentScope();
  if (scope === null) return;
  let bytes = 0;
  for (const { value } of entries) if (value instanceof Uint8Array) bytes += value.length;
  scope.count(entries.length, bytes);
}

/** Counts the bytes of a decompressed value. */
export function countBytes(bytes: number): void {
  current.getStore()?.count(0, bytes);
}
