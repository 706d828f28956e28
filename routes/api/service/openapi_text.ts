/** The OpenAPI document as text. */
import { openapiDocument } from "../../openapi/document.ts";
import { ENDPOINTS } from "../endpoints.ts";

export function documentText(): string {
  return `${JSON.stringify(openapiDocument(ENDPOINTS))}\n`;
}
