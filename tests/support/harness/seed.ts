/**
 * Seed of the random tests that every push runs, so that none fails by chance. The long forms,
 * `deno task assure`, draw a new one each time.
 */
export const SEED = 20_261;
