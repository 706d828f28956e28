/** Content negotiation by the quality values in request headers (RFC 9110, 12.4.2). */

/** Returns the quality value of each listed item, from 0 to 1; an invalid value counts as 0. */
export function weightsOf(header: string | null): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const item of header?.toLowerCase().split(",") ?? []) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const weight = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
    if (!weights.has(name)) weights.set(name, Number(weight) || 0);
  }
  return weights;
}

/** Returns whether an `Accept` header lists JSON with at least the weight of plain text. */
export function prefersJson(accept: string | null): boolean {
  const weights = weightsOf(accept);
  const json = weights.get("application/json") ?? weights.get("application/*") ?? 0;
  const text = weights.get("text/plain") ?? weights.get("text/*") ?? weights.get("*/*") ?? 0;
  return json > 0 && json >= text;
}
