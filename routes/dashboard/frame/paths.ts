/** Where pages are. */

/** The first page, below which all others are. */
export const DASHBOARD = "/dashboard";

/** Where one signs in. */
export const SIGN_IN = `${DASHBOARD}/sign-in`;

/** The query of a link: pairs without a value are left out; the empty text where none is left. */
export function queryText(
  pairs: Iterable<readonly [string, string | number | null | undefined]>,
): string {
  const sent = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== "") sent.append(name, String(value));
  }
  return sent.size === 0 ? "" : `?${sent}`;
}
