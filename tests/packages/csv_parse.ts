export * from "npm:csv-parse@7.0.3/sync";
