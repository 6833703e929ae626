/** How the request for an answer in JSON reaches a model: in a field of its style, or in words. */
import type { JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import type { OutputFormat, TextBlock } from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../capabilities.ts";
import type { Warnings } from "../warnings.ts";

/** A requested for an answer that matches a schema. */
export type SchemaFormat = Extract<OutputFormat, { readonly type: "json_schema" }>;

/** The fields of a request that set the format of its answer. */
export interface EncodedFormat {
  readonly field?: JsonObject;
  /** Said in the instructions where the route has no field for it. */
  readonly instructions: readonly string[];
}

/** What a style adds of its own to {@linkcode encodeOutputFormat}. */
export interface FormatStyle {
  /** The field for a schema. */
  readonly encodeSchema: (format: SchemaFormat) => JsonObject;
  /** Whether the mode `json_object` may go out without instructions that ask for JSON too. */
  readonly modeIsEnough: () => boolean;
}

/**
 * Chat and Responses: the field where the route has one for the requested, else words. The mode `json_object` knows no
 * schema, so a schema that goes out as this mode is said in words besides.
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

/** The requested as an instruction, for a route without a field for it. */
export function formatInWords(output: OutputFormat): string {
  if (output.type === "json_object") return "Answer with one JSON object and with nothing else.";
  return "Answer with one JSON value that matches this JSON Schema, and with nothing else:\n" +
    stringifyExactly(output.schema);
}

/** The instructions of a conversation, and after them the gateway's own. */
export function withInstructions(
  system: readonly TextBlock[],
  more: readonly string[],
): TextBlock[] {
  return [...system, ...more.map((text): TextBlock => ({ type: "text", text, path: "system" }))];
}
