// Sends requests by those types; the generator's own client, 2 packages.
export * from "npm:openapi-fetch@0.17.0";
export { default } from "npm:openapi-fetch@0.17.0";
