// Dates for `ajv`; the validator depends on it too.
export { default } from "npm:ajv-formats@3.0.1";
