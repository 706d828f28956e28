// The engine of `denokv` for a shared KV that loses answers; an addon, in a process of its own.
export { openKv } from "npm:@deno/kv@0.14.0";
