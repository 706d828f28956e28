/** Tests with something that is opened before each of them and closed after it. */

/** A test of what its fixture opened. */
type Body<T> = (opened: T, t: Deno.TestContext) => void | Promise<void>;

/** Declares a test of the runtime. */
type Declare = (name: string, test: (t: Deno.TestContext) => Promise<void>) => void;

/** Returns the declaration of tests over what `open` returns. */
export function fixture<T extends AsyncDisposable>(
  open: () => Promise<T>,
  declare: Declare = Deno.test,
): (name: string, body: Body<T>) => void {
  return (name, body) =>
    declare(name, async (t) => {
      await using opened = await open();
      await body(opened, t);
    });
}
