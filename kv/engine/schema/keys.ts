/**
 * Builds and reads all keys of the store, by subject. Only the files of this folder do so: one
 * exported function per shape of a key, and the file that builds a key also reads its parts.
 *
 * Rules: the tenant comes first, never the time, where customers write; times are numbers (they
 * sort); a prefix function ends in `Prefix` and is for `list` only.
 *
 * - Folder `kv/engine/schema/`: the keys of the store, and whose the rows of each kind are.
 * - In: ids, times and codes.
 * - Out: keys, prefixes and selectors, and the parts of a key that was read.
 * - Never: reads or writes the store.
 */
export * from "./access.ts";
export * from "./bank.ts";
export * from "./calls.ts";
export * from "./control.ts";
export * from "./costs.ts";
export * from "./money.ts";
export * from "./organisations.ts";
export * from "./proofs.ts";
export * from "./row_owners.ts";
export * from "./store_key.ts";
