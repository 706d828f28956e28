/** The examples of the API's description, as calls. */
import { ENDPOINTS } from "../../../routes/api/endpoints.ts";
import type { Endpoint } from "../../../routes/openapi/describe.ts";
import { exampleFor } from "../../../routes/openapi/document.ts";

export function urlOf({ id, path }: Endpoint): string {
  const example = exampleFor({ id });
  const filled = Object.entries(example.path ?? {}).reduce(
    (url, [name, value]) => url.replace(`:${name}`, encodeURIComponent(value)),
    path,
  );
  const query = new URLSearchParams(example.query).toString();
  return query === "" ? filled : `${filled}?${query}`;
}

/** Sends examples to one team, each after those that it needs. */
export class Scenario<Answer extends { readonly text: string }> {
  readonly #sent = new Set<string>();
  /** Ids in the examples, and the server's actual ids for them. */
  readonly #names = new Map<string, string>();
  readonly #call: (endpoint: Endpoint, url: string) => Promise<Answer>;

  /** @param call sends an endpoint's example to an URL, and does all work that follows */
  constructor(call: (endpoint: Endpoint, url: string) => Promise<Answer>) {
    this.#call = call;
  }

  /** Replaces example ids in a text by the actual ids. */
  withRealNames(text: string): string {
    return [...this.#names].reduce((result, [shown, real]) => result.replaceAll(shown, real), text);
  }

  async send(endpoint: Endpoint): Promise<Answer> {
    const example = exampleFor(endpoint);
    for (const id of example.needs ?? []) {
      const needed = ENDPOINTS.find((each) => each.id === id);
      if (needed === undefined) throw new TypeError(`nothing is called ${id}`);
      if (!this.#sent.has(id)) await this.send(needed);
    }
    this.#sent.add(endpoint.id);
    const answer = await this.#call(endpoint, this.withRealNames(urlOf(endpoint)));
    const [shown, real] = [idIn(JSON.stringify(example.answer)), idIn(answer.text)];
    if (shown !== undefined && real !== undefined) this.#names.set(shown, real);
    return answer;
  }
}

/** Returns the id that a JSON object, or the first item of its first field, begins with. */
function idIn(json: string): string | undefined {
  return /^{("\w+":\[{)?"id":"([^"]+)"/.exec(json)?.[2];
}
