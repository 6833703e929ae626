/**
 * Joins the reports of usage of one stream. Counts are cumulative, so that a later report can only be larger; but some
 * servers end a stream with zeros, or leave out what an earlier event reported.
 */
import { defined } from "../../lib/base/defined.ts";
import {
  billedInputTokens,
  type MediaParts,
  partsWithin,
  type ReportedUsage,
  type TokenUsage,
} from "../../billing/tokens/token_bounds.ts";

/**
 * Joins a report with the earlier ones of its stream: each counter keeps its largest value, and the prompt as a whole is a
 * counter. Tokens that a later report moves from one bucket of the prompt to another are therefore not counted twice.
 *
 * @example
 * ```ts
 * import { joinReports } from "./usage_reports.ts";
 * const first = { input: 100, cacheRead: 900, cacheWrite: 0, output: 0, reasoning: 0 };
 * const zeros = { input: 0, cacheRead: 0, cacheWrite: 0, output: 7, reasoning: 0 };
 * const { input, cacheRead, output } = joinReports(first, zeros);
 * if (`${input} ${cacheRead} ${output}` !== "100 900 7") throw new Error("zeros erased a report");
 * ```
 */
export function joinReports(
  earlier: ReportedUsage | undefined,
  next: ReportedUsage,
): ReportedUsage {
  if (earlier === undefined) return next;
  const said = earlier.said === undefined && next.said === undefined
    ? undefined
    : largest(earlier.said ?? earlier, next.said ?? next);
  return {
    ...largest(earlier, next),
    ...(said === undefined ? {} : { said }),
    ...(next.partlyAbsurd === true && { partlyAbsurd: true }),
  };
}

/**
 * Adds the reports of two requests that together make one answer.
 *
 * @example
 * ```ts
 * import { addReports } from "./usage_reports.ts";
 * const first = { input: 100, cacheRead: 900, cacheWrite: 0, output: 5, reasoning: 2 };
 * const second = { input: 30, cacheRead: 0, cacheWrite: 0, output: 7, reasoning: 0 };
 * const { input, cacheRead, output } = addReports(first, second);
 * if (`${input} ${cacheRead} ${output}` !== "130 900 12") throw new Error("wrong sum");
 * ```
 */
export function addReports(a: ReportedUsage, b: ReportedUsage): ReportedUsage {
  const said = a.said === undefined && b.said === undefined
    ? undefined
    : added(a.said ?? a, b.said ?? b);
  return {
    ...added(a, b),
    ...defined({ said }),
    ...((a.partlyAbsurd ?? b.partlyAbsurd) === true && { partlyAbsurd: true }),
  };
}

function added(a: TokenUsage, b: TokenUsage): TokenUsage {
  const hour = (a.cacheWriteHour ?? 0) + (b.cacheWriteHour ?? 0);
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...(hour > 0 && { cacheWriteHour: hour }),
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    inputAudio: (a.inputAudio ?? 0) + (b.inputAudio ?? 0),
    inputImage: (a.inputImage ?? 0) + (b.inputImage ?? 0),
    outputAudio: (a.outputAudio ?? 0) + (b.outputAudio ?? 0),
    outputImage: (a.outputImage ?? 0) + (b.outputImage ?? 0),
  };
}

function largest(a: TokenUsage, b: TokenUsage): TokenUsage {
  const prompt = Math.max(billedInputTokens(a), billedInputTokens(b));
  const cacheRead = Math.min(Math.max(a.cacheRead, b.cacheRead), prompt);
  const cacheWrite = Math.min(Math.max(a.cacheWrite, b.cacheWrite), prompt - cacheRead);
  const hour = Math.min(Math.max(a.cacheWriteHour ?? 0, b.cacheWriteHour ?? 0), cacheWrite);
  const input = prompt - cacheRead - cacheWrite;
  const output = Math.max(a.output, b.output);
  return {
    input,
    ...partsWithin(largestParts(a, b), { input, output }),
    cacheRead,
    cacheWrite,
    ...(hour > 0 && { cacheWriteHour: hour }),
    output,
    reasoning: Math.max(a.reasoning, b.reasoning),
  };
}

function largestParts(a: MediaParts, b: MediaParts): MediaParts {
  return {
    inputAudio: Math.max(a.inputAudio ?? 0, b.inputAudio ?? 0),
    inputImage: Math.max(a.inputImage ?? 0, b.inputImage ?? 0),
    outputAudio: Math.max(a.outputAudio ?? 0, b.outputAudio ?? 0),
    outputImage: Math.max(a.outputImage ?? 0, b.outputImage ?? 0),
  };
}
