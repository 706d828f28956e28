/** The package that the default rate card is generated from. Its version is pinned here, twice. */
export * from "npm:@pydantic/genai-prices@0.1.8";

/** Name and version of the package. */
export const PINNED = "@pydantic/genai-prices@0.1.8";
