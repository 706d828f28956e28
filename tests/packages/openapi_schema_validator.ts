// Validates `/openapi.json` by the standard's own schemas. The smallest for 3.1: one package over `ajv`.
export * from "npm:@seriousme/openapi-schema-validator@2.11.0";
