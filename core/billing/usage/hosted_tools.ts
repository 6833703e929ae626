/**
 * Fees for tools that the provider runs and bills by use: web searches, sessions of a code interpreter, pictures made
 * within a chat.
 *
 * The uses of a call are bounded before it is sent, by the caller or by the operator, and the fees of that many are
 * reserved. What a provider reports beyond the bound is never charged; it is a claim.
 */
import { microVndOf, type WrittenVnd } from "../money/micro_vnd.ts";

/** Hosted tools whose uses the gateway counts, so that a fee can be charged for each. */
export const countedTools = [
  "web_search",
  "web_fetch",
  "code_execution",
  "file_search",
  "image_generation",
] as const;

/** A hosted tool whose uses the gateway counts. */
export type CountedTool = typeof countedTools[number];

/** Runs of tools. An absent tool did not run. */
export type ToolUses = Readonly<Partial<Record<CountedTool, number>>>;

/** No tool ran. */
export const noToolUses: ToolUses = {};

/** The fee of a tool in the catalogue: for each use, or once for a call that uses it at all. */
export type ToolPrice =
  | { readonly vndPerUse: WrittenVnd; readonly mostUses?: number | undefined }
  | { readonly vndPerCall: WrittenVnd };

/** The fees of a model. */
export type ToolPrices = Readonly<Partial<Record<CountedTool, ToolPrice | undefined>>>;

/** Uses that are reserved where neither the caller nor the operator bounds them: what vendors stop at. */
export const defaultMostUses = 10;

/** Most uses that an operator can set. */
export const maxMostUses = 1_000;

/** Hosted tool that a request asks for. */
export interface AskedTool {
  readonly tool: string;
  /** Most uses by the caller's own bound; absent: it has none. */
  readonly mostUses?: number | undefined;
  /** Whether the tool runs for every call that asks for it, so that a provider without a count ran it once. */
  readonly alwaysRuns: boolean;
}

/** A tool that a call may use for a fee, as reserved. */
export interface ReservedTool {
  readonly tool: CountedTool;
  readonly perUseMicroVnd: bigint;
  /** Most uses that are charged. */
  readonly mostUses: number;
  /** Whether one fee pays for all uses of the call. */
  readonly isPerCall: boolean;
  readonly alwaysRuns: boolean;
}

/** A line of a receipt: what a hosted tool cost. */
export interface ToolCharge {
  readonly tool: CountedTool;
  readonly uses: number;
  readonly perUseMicroVnd: bigint;
}

function isCounted(tool: string): tool is CountedTool {
  return countedTools.some((counted) => counted === tool);
}

/**
 * Returns the tools of a request that have a fee, with the uses to reserve.
 *
 * @example
 * ```ts
 * import { reservedTools } from "./hosted_tools.ts";
 * const prices = { web_search: { vndPerUse: 250 } };
 * const [search] = reservedTools(prices, [{ tool: "web_search", mostUses: 3, alwaysRuns: false }], 1);
 * if (search?.mostUses !== 3 || search.perUseMicroVnd !== 250_000_000n) throw new Error("wrong");
 * ```
 *
 * @param choices how many answers were requested: each may use its tools
 */
export function reservedTools(
  prices: ToolPrices | undefined,
  asked: readonly AskedTool[],
  choices: number,
): readonly ReservedTool[] {
  if (prices === undefined || asked.length === 0) return [];
  return asked.flatMap(({ tool, mostUses, alwaysRuns }): ReservedTool[] => {
    const price = isCounted(tool) ? prices[tool] : undefined;
    if (price === undefined || !isCounted(tool)) return [];
    if ("vndPerCall" in price) {
      const perUseMicroVnd = microVndOf(price.vndPerCall);
      return [{ tool, perUseMicroVnd, mostUses: 1, isPerCall: true, alwaysRuns }];
    }
    const perUseMicroVnd = microVndOf(price.vndPerUse);
    const most = (mostUses ?? price.mostUses ?? defaultMostUses) * choices;
    return [{ tool, perUseMicroVnd, mostUses: most, isPerCall: false, alwaysRuns }];
  });
}

/** Computes what the tools of a call can cost at most. */
export function maxToolFees(tools: readonly ReservedTool[]): bigint {
  let sum = 0n;
  for (const { perUseMicroVnd, mostUses } of tools) sum += perUseMicroVnd * BigInt(mostUses);
  return sum;
}

/** Sums the lines of a receipt. */
export function toolChargesMicroVnd(charges: readonly ToolCharge[]): bigint {
  let sum = 0n;
  for (const { uses, perUseMicroVnd } of charges) sum += BigInt(uses) * perUseMicroVnd;
  return sum;
}

/** The fees of an ended call. */
export interface ToolFees {
  readonly charges: readonly ToolCharge[];
  readonly feesMicroVnd: bigint;
  /** The fees of uses beyond the bounds. */
  readonly claimMicroVnd: bigint;
}

const noToolFees: ToolFees = { charges: [], feesMicroVnd: 0n, claimMicroVnd: 0n };

/**
 * Computes the fees for what a provider reported.
 *
 * @param uses `undefined` if the provider counts no uses: then tools that always run ran once
 * @example
 * ```ts
 * import { toolFees } from "./hosted_tools.ts";
 * const search = { tool: "web_search", perUseMicroVnd: 100n, mostUses: 3, isPerCall: false, alwaysRuns: false } as const;
 * const { feesMicroVnd, claimMicroVnd } = toolFees([search], { web_search: 5 });
 * if (feesMicroVnd !== 300n || claimMicroVnd !== 200n) throw new Error("charged beyond the bound");
 * ```
 */
export function toolFees(tools: readonly ReservedTool[], uses: ToolUses | undefined): ToolFees {
  if (tools.length === 0) return noToolFees;
  const charges: ToolCharge[] = [];
  let claimMicroVnd = 0n;
  for (const { tool, perUseMicroVnd, mostUses, isPerCall, alwaysRuns } of tools) {
    const ran = uses === undefined ? (alwaysRuns ? 1 : 0) : uses[tool] ?? 0;
    const used = isPerCall ? Math.min(ran, 1) : ran;
    const charged = Math.min(used, mostUses);
    if (charged > 0) charges.push({ tool, uses: charged, perUseMicroVnd });
    claimMicroVnd += BigInt(used - charged) * perUseMicroVnd;
  }
  return { charges, feesMicroVnd: toolChargesMicroVnd(charges), claimMicroVnd };
}
