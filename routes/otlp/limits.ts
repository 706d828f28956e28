/** Limits of requests with traces. */

/** Maximum bytes of a body in protobuf, also after inflating. */
export const PROTOBUF_BYTES_MAX = 32 * 1_048_576;

/** Maximum bytes of a body in JSON, also after inflating. */
export const JSON_BYTES_MAX = 4 * 1_048_576;
