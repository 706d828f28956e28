/** The example of a call as a line for a shell, with the endpoint in `$U` and the credential in `$K`. */
import type { CallOfGroup } from "./document.ts";

/** Writes the line. */
export function curlOf({ method, path, call }: CallOfGroup): string {
  const shown = (where: string) =>
    call.parameters.filter(({ in: at, example }) => at === where && example !== undefined);
  let url = path;
  for (const { name, example } of shown("path")) {
    url = url.replace(`{${name}}`, encodeURIComponent(String(example)));
  }
  const query = shown("query").map(({ name, example }) =>
    `${name}=${encodeURIComponent(String(example))}`
  );
  const body = call.requestBody?.content["application/json"]?.example;
  return [
    "curl -sS",
    ...(method === "HEAD" ? ["-I"] : []),
    ...(["GET", "HEAD"].includes(method) || (method === "POST" && body !== undefined)
      ? []
      : [`-X ${method}`]),
    `"$U${url}${query.length > 0 ? `?${query.join("&")}` : ""}"`,
    ...(call["x-scope"] === null ? [] : ['-H "$K"']),
    ...shown("header").map(({ name, example }) => `-H ${quoted(`${name}: ${example}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(JSON.stringify(body))}`]),
  ].join(" ");
}

/** A word that no shell changes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
