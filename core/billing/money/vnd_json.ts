import { formatVnd } from "./micro_vnd.ts";

/**
 * Converts a record for output: every `…MicroVnd` bigint becomes a `…Vnd` decimal string, at any
 * depth.
 *
 * @example
 * ```ts
 * import { inVnd } from "./vnd_json.ts";
 * const shown = JSON.stringify(inVnd({ id: "a", costMicroVnd: 1_500_000n }));
 * if (shown !== '{"id":"a","costVnd":"1.5"}') throw new Error(shown);
 * ```
 */
export function inVnd(value: unknown): unknown {
  if (typeof value === "bigint") return formatVnd(value);
  if (Array.isArray(value)) return value.map(inVnd);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map((
      [name, item],
    ) => [typeof item === "bigint" ? name.replace(/MicroVnd$/, "Vnd") : name, inVnd(item)]),
  );
}
