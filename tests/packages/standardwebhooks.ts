// Verifies the signatures of webhooks as a receiver does. 2 small packages.
export * from "npm:standardwebhooks@1.1.1";
