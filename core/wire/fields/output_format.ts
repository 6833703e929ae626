/** Writes the requested format of an answer: as a field of the style, or as an instruction. */
import type { JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import type { OutputFormat, TextBlock } from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { Warnings } from "../contract/warnings.ts";

/** A request for an answer that matches a schema. */
export type SchemaFormat = Extract<OutputFormat, { readonly type: "json_schema" }>;

/** The fields of a request that set the format of its answer. */
export interface EncodedFormat {
  readonly field?: JsonObject;
  /** An instruction for routes without a field for the format. */
  readonly instructions: readonly string[];
}

/** The style's own part of {@linkcode encodeOutputFormat}. */
export interface FormatStyle {
  /** The field for a schema. */
  readonly encodeSchema: (format: SchemaFormat) => JsonObject;
  /** Whether the mode `json_object` needs no instruction that asks for JSON. */
  readonly modeIsEnough: () => boolean;
}

/**
 * Chat and Responses: writes the requested format as a field if the route has one, else as an instruction. The mode
 * `json_object` has no schema, so a schema that is sent as this mode also becomes an instruction.
 */
export function encodeOutputFormat(
  output: OutputFormat | undefined,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  style: FormatStyle,
): EncodedFormat {
  if (output === undefined) return { instructions: [] };
  const isSchema = output.type === "json_schema";
  if (isSchema && capabilities.structured === "format") {
    return { field: style.encodeSchema(output), instructions: [] };
  }
  const hasMode = capabilities.structured === "format" || capabilities.structured === "json_object";
  if (isSchema || !hasMode) warnings.add(output.path);
  if (!hasMode) return { instructions: [formatInWords(output)] };
  const isEnough = !isSchema && style.modeIsEnough();
  return {
    field: { type: "json_object" },
    instructions: isEnough ? [] : [formatInWords(output)],
  };
}

/** Writes the requested format as an instruction, for a route without a field for it. */
export function formatInWords(output: OutputFormat): string {
  if (output.type === "json_object") return "Answer with one JSON object and with nothing else.";
  return "Answer with one JSON value that matches this JSON Schema, and with nothing else:\n" +
    stringifyExactly(output.schema);
}

/** Appends the gateway's instructions to those of a conversation. */
export function withInstructions(
  system: readonly TextBlock[],
  more: readonly string[],
): TextBlock[] {
  return [...system, ...more.map((text): TextBlock => ({ type: "text", text, path: "system" }))];
}
