/** A KV that fails by the test's plan, and otherwise behaves like the real one. */

/** Outcomes of one commit. */
export const FAULTS = [
  "none",
  "throw",
  "commit then throw",
  "lost",
  "repeat",
  "locked",
  "full",
  "slow",
  "stall",
  "stall then throw",
] as const;
export type Fault = typeof FAULTS[number];

const SLOW_MS = 3;

/**
 * Wraps a KV.
 *
 * @param next returns the outcome of each commit
 * @param stalled resolves when a stalled commit may continue
 */
export function faultKv(
  kv: Deno.Kv,
  next: () => Fault,
  stalled: () => Promise<void> = () => Promise.resolve(),
): Deno.Kv {
  const wrap = (operation: Deno.AtomicOperation): Deno.AtomicOperation =>
    new Proxy(operation, {
      get(target, name) {
        if (name === "commit") return () => commit(target, next(), stalled);
        const method = Reflect.get(target, name).bind(target);
        return (...args: unknown[]) => wrap(method(...args));
      },
    });
  return new Proxy(kv, {
    get: (target, name) =>
      name === "atomic" ? () => wrap(target.atomic()) : Reflect.get(target, name).bind(target),
  });
}

async function commit(
  operation: Deno.AtomicOperation,
  fault: Fault,
  stalled: () => Promise<void>,
): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
  switch (fault) {
    case "throw":
      throw new TypeError("disk I/O error");
    case "commit then throw":
      await operation.commit();
      throw new TypeError("the response was lost");
    case "locked":
      throw new TypeError("database is locked");
    case "full":
      throw new TypeError("database or disk is full");
    case "lost":
      // As if another process had caused a conflict between a read and this commit, without
      // changing a key.
      return { ok: false };
    case "repeat":
      // The client of a shared KV sends a commit again whose answer is lost.
      await operation.commit();
      return await operation.commit();
    case "slow":
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      return await operation.commit();
    case "stall":
      await stalled();
      return await operation.commit();
    case "stall then throw":
      await stalled();
      throw new TypeError("disk I/O error");
    case "none":
      return await operation.commit();
    default:
      return fault satisfies never;
  }
}
