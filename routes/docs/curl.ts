/** The example of an operation as a curl command; `$U` is the endpoint, `$K` the credential header. */
import type { CallOfGroup } from "./document.ts";

/** Writes the command. */
export function curlOf({ method, path, call }: CallOfGroup): string {
  const examplesIn = (where: string) =>
    call.parameters.filter(({ in: at, example }) => at === where && example !== undefined);
  let url = path;
  for (const { name, example } of examplesIn("path")) {
    url = url.replace(`{${name}}`, encodeURIComponent(String(example)));
  }
  const query = examplesIn("query").map(({ name, example }) =>
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
    ...examplesIn("header").map(({ name, example }) => `-H ${quoted(`${name}: ${example}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(JSON.stringify(body))}`]),
  ].join(" ");
}

/** Quotes a text for the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
