/** The fields of a form as texts, by name. */
export type Texts = Readonly<Record<string, string>>;

/** Reads fields of a submitted form; an absent field is empty. */
export function readTexts(form: URLSearchParams, names: readonly string[]): Texts {
  return Object.fromEntries(names.map((name) => [name, (form.get(name) ?? "").trim()]));
}

/** Fills in fields from stored values; a field without a value is empty. */
export function textsOf(names: readonly string[], values: object): Texts {
  const fields: Record<string, unknown> = { ...values };
  return Object.fromEntries(names.map((name) => [name, String(fields[name] ?? "")]));
}

/** Converts the fields that are filled in to values of a body. */
export function valuesIn(
  texts: Texts,
  convert: (text: string, name: string) => unknown,
  names: readonly string[] = Object.keys(texts),
): Record<string, unknown> {
  const filled = names.map((name) => [name, texts[name] ?? ""] as const)
    .filter(([, text]) => text !== "");
  return Object.fromEntries(filled.map(([name, text]) => [name, convert(text, name)]));
}
