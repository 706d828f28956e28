// Drives the Chromium of the machine, without a download.
export * from "npm:playwright-core@1.65.1";
