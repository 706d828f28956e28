/** `GET /openapi.json`: the API's description (`openapi/describe.ts`). */
import type { Handle, Route } from "./context.ts";
import { frozen } from "./frozen.ts";
import { openapiDocument } from "./openapi/document.ts";
import { OPERATIONS } from "./openapi/operations.ts";

export function describeApi(routes: () => readonly Route[]): Handle {
  return frozen(() => ({
    type: "application/json",
    text: `${JSON.stringify(openapiDocument(routes(), OPERATIONS))}\n`,
  }));
}
