/** Runs before the library: sets it up, and shows the reference. */

// The library's Zod does not try `eval`, which the policy forbids.
globalThis.__zod_globalConfig = { jitless: true };

addEventListener("DOMContentLoaded", () => {
  Scalar.createApiReference("#reference", {
    url: "/openapi.json",
    // Nothing of other hosts.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: "never",
    // The dashboard's theme; the system's without one.
    hideDarkModeToggle: true,
    forceDarkModeState: document.cookie.match(/\brunledger-theme=(light|dark)\b/)?.[1],
    documentDownloadType: "none",
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    authentication: { preferredSecurityScheme: "bearer" },
  });
});
