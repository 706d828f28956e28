export { openKv } from "npm:@deno/kv@0.14.0";
