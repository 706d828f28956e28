// Generates types from `/openapi.json`, as a client in TypeScript does; depends on `typescript`.
export * from "npm:openapi-typescript@7.13.0";
export { default } from "npm:openapi-typescript@7.13.0";
