/**
 * Every key of the store, by subject. Only the files of `keys/` build keys and take them apart: one exported function
 * per key shape, and what a key says is read by the file that built it.
 *
 * Rules: the tenant comes first, never the time, where customers write; times are numbers (they sort); a prefix
 * function ends in `Prefix` and is for `list` only.
 */
export * from "./keys/access.ts";
export * from "./keys/accounts.ts";
export * from "./keys/bank.ts";
export * from "./keys/calls.ts";
export * from "./keys/control.ts";
export * from "./keys/invoices.ts";
export * from "./keys/money.ts";
export * from "./keys/operators.ts";
export * from "./keys/outbox.ts";
export * from "./keys/store_key.ts";
export * from "./keys/topups.ts";
export * from "./keys/videos.ts";
