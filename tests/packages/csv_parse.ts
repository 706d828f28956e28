// Parses exports as CSV by the RFC, strictly.
export * from "npm:csv-parse@7.0.3/sync";
