// Parses the `RateLimit` headers as a client does.
export * from "npm:structured-headers@2.1.0";
