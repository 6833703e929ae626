/** The elements of a stored receipt that say what was used: tokens, and uses of hosted tools. */
import { countedTools, type ToolCharge } from "../../../core/billing/usage/hosted_tools.ts";
import { hasMediaParts, partsWithin } from "../../../core/billing/usage/media_parts.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_usage.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";

/**
 * Elements from `writeHour` on only if one of them has something: earlier releases read five elements, or six.
 */
export type StoredUsage = [
  input: number,
  read: number,
  write: number,
  output: number,
  reasoning: number,
  writeHour?: number,
  tools?: StoredTool[],
  parts?: StoredParts,
];

/** Parts of input and output that are sound or pictures. */
type StoredParts = [
  inputAudio: number,
  inputImage: number,
  outputAudio: number,
  outputImage: number,
];

type StoredTool = [tool: string, uses: number, perUse: string];

/** Encodes the usage of a receipt. Fees of tools are charged with usage only. */
export function storedUsage(
  usage: TokenUsage,
  toolCharges: Receipt["toolCharges"] = [],
): StoredUsage {
  const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning } = usage;
  const stored: StoredUsage = [input, cacheRead, cacheWrite, output, reasoning];
  if (toolCharges.length > 0 || hasMediaParts(usage)) {
    // Earlier releases read an hour of no tokens as none.
    stored.push(
      cacheWriteHour ?? 0,
      toolCharges.map((
        { tool, uses, perUseMicroVnd },
      ): StoredTool => [tool, uses, perUseMicroVnd.toString()]),
    );
    if (hasMediaParts(usage)) stored.push(storedParts(usage));
  } else if (cacheWriteHour !== undefined) stored.push(cacheWriteHour);
  return stored;
}

function storedParts(usage: TokenUsage): StoredParts {
  const { inputAudio = 0, inputImage = 0, outputAudio = 0, outputImage = 0 } = usage;
  return [inputAudio, inputImage, outputAudio, outputImage];
}

/** Decodes the tokens of a receipt. */
export function tokenUsage(stored: StoredUsage): TokenUsage {
  const [input, cacheRead, cacheWrite, output, reasoning, cacheWriteHour = 0] = stored;
  const [inputAudio = 0, inputImage = 0, outputAudio = 0, outputImage = 0] = stored[7] ?? [];
  const parts = { inputAudio, inputImage, outputAudio, outputImage };
  return {
    input,
    ...partsWithin(parts, { input, output }),
    cacheRead,
    cacheWrite,
    ...(cacheWriteHour > 0 && { cacheWriteHour }),
    output,
    reasoning,
  };
}

/**
 * Decodes the fees of hosted tools.
 *
 * @throws {InvariantError} if a tool is unknown or a fee is negative
 */
export function toolChargesOf(stored: StoredUsage | null): readonly ToolCharge[] {
  return (stored?.[6] ?? []).map(([name, uses, perUse]) => {
    const tool = countedTools.find((known) => known === name);
    invariant(tool !== undefined, `not a hosted tool: ${name}`);
    const perUseMicroVnd = BigInt(perUse);
    invariant(uses > 0 && perUseMicroVnd >= 0n, "not a fee");
    return { tool, uses, perUseMicroVnd };
  });
}
