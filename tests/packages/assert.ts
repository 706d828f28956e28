/**
 * The part of `@std/assert` that the tests use, over the runtime's own assertions.
 *
 * The signatures match the original, so that `deno.json` may map the name back to it.
 */
import nodeAssert from "node:assert/strict";

type ErrorClass = new (...args: never[]) => Error;

/** Fails unless the value is truthy. */
export function assert(value: unknown, message?: string): asserts value {
  nodeAssert.ok(value, message);
}

/** Fails unless both are deeply and strictly equal. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  nodeAssert.deepEqual(actual, expected, message);
}

/** Fails if both are deeply and strictly equal. */
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  nodeAssert.notDeepEqual(actual, expected, message);
}

/** Fails unless the text matches. */
export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  nodeAssert.match(actual, expected, message);
}

/** Fails unless the text contains the other. */
export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  nodeAssert.ok(actual.includes(expected), message ?? `"${actual}" does not include "${expected}"`);
}

/** Fails unless the function throws such an error; returns the error. */
export function assertThrows(
  run: () => unknown,
  errorClass: ErrorClass = Error,
  messageIncludes = "",
): Error {
  try {
    run();
  } catch (error) {
    return checkError(error, errorClass, messageIncludes);
  }
  throw new nodeAssert.AssertionError({ message: `Expected ${errorClass.name} to be thrown` });
}

/** Fails unless the promise rejects with such an error; returns the error. */
export async function assertRejects(
  run: () => PromiseLike<unknown>,
  errorClass: ErrorClass = Error,
  messageIncludes = "",
): Promise<Error> {
  try {
    await run();
  } catch (error) {
    return checkError(error, errorClass, messageIncludes);
  }
  throw new nodeAssert.AssertionError({ message: `Expected a rejection by ${errorClass.name}` });
}

function checkError(error: unknown, errorClass: ErrorClass, messageIncludes: string): Error {
  nodeAssert.ok(error instanceof errorClass, `Expected ${errorClass.name}, got ${error}`);
  assertStringIncludes(error.message, messageIncludes);
  return error;
}
