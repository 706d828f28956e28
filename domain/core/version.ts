/** Version of this service. */
// The version is written down once.
import project from "../../deno.json" with { type: "json" };

/** Version of the service, such as `0.1.0`. */
export const VERSION: string = project.version;
