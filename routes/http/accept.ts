/** What a client prefers, by the weights in its headers (RFC 9110, 12.4.2). */

/** Weights by what they are for, from 0 to 1; a weight that is no number is 0. */
export function weightsOf(header: string | null): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const each of header?.toLowerCase().split(",") ?? []) {
    const [name = "", ...parameters] = each.split(";").map((part) => part.trim());
    const weight = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
    if (!weights.has(name)) weights.set(name, Number(weight) || 0);
  }
  return weights;
}

/** Whether an `Accept` names JSON, and no less than it names plain text. */
export function prefersJson(accept: string | null): boolean {
  const weights = weightsOf(accept);
  const json = weights.get("application/json") ?? weights.get("application/*") ?? 0;
  const text = weights.get("text/plain") ?? weights.get("text/*") ?? weights.get("*/*") ?? 0;
  return json > 0 && json >= text;
}
