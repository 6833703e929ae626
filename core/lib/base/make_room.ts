/** Keeps a map within a bound. */

/** Removes the entry that was set first, if a map has as many entries as it may: the next one has room then. */
export function makeRoom<Key>(map: Map<Key, unknown>, maxEntries: number): void {
  if (map.size < maxEntries) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}
