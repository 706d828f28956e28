// Validates answers by the schemas of that document; the validator depends on it.
export * from "npm:ajv@8.20.0/dist/2020.js";
