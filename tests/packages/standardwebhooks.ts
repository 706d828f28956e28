export * from "npm:standardwebhooks@1.1.1";
