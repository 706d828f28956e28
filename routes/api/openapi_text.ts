/** The document as text. */
import type { Route } from "../http/context.ts";
import { openapiDocument } from "../openapi/document.ts";
import { OPERATIONS } from "./operations.ts";

/** Writes the document of the routes that are served. */
export function documentText(routes: readonly Route[]): string {
  return `${JSON.stringify(openapiDocument(routes, OPERATIONS))}\n`;
}
