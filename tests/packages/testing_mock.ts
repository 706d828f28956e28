/**
 * The part of `@std/testing/mock` that the tests use.
 *
 * The signatures match the original, so that `deno.json` may map `@std/testing` back to it.
 */

/** A method that is replaced until it is restored or disposed of. */
export interface Stub extends Disposable {
  /** Puts the method back. */
  restore(): void;
}

/** Replaces a method of an object. */
export function stub<Self extends object, Property extends keyof Self>(
  self: Self,
  property: Property,
  func: Self[Property],
): Stub {
  const own = Object.getOwnPropertyDescriptor(self, property);
  Object.defineProperty(self, property, { value: func, configurable: true, writable: true });
  const restore = () => {
    if (own === undefined) delete self[property];
    else Object.defineProperty(self, property, own);
  };
  return { restore, [Symbol.dispose]: restore };
}
