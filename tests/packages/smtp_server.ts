export * from "npm:smtp-server@3.21.6";
