/**
 * Refuses what no vendor takes, before it is written in the style of one: the client learns what is wrong in its own
 * words, and no provider gets a request that it must refuse. What only one vendor refuses is a matter of its encoder.
 */
import type { Json } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type {
  Block,
  Conversation,
  CustomTool,
  FunctionTool,
  MediaSource,
  OutputFormat,
  Sampling,
  Tool,
} from "../conversation/mod.ts";
import { invalid } from "../fields/fields.ts";
import { samplingPath, stopPath } from "../fields/field_table.ts";
import { Warnings } from "../contract/warnings.ts";
import { wellFormed } from "./schemas/well_formed.ts";

/**
 * Returns the conversation without what repeats itself, or means nothing.
 *
 * @throws {GatewayError} `invalid_request` naming the field that is wrong for every vendor
 *
 * @example
 * ```ts
 * import { checkedConversation } from "./request_checks.ts";
 * const tool = { type: "function", name: "f", path: "tools.0" } as const;
 * const asking = (name: string) => ({
 *   from: "chat" as const, model: "m", system: [], turns: [], tools: [tool, { ...tool, path: "tools.1" }],
 *   toolChoice: { type: "tool" as const, name, path: "tool_choice" },
 *   sampling: {}, stream: false, streamUsage: false, extras: [], warnings: [],
 * });
 * const { tools, warnings } = checkedConversation(asking("f"));
 * if (tools.length !== 1 || warnings[0] !== "tools.1") throw new Error("the second says the same");
 * let refusal = "";
 * try {
 *   checkedConversation(asking("g"));
 * } catch (error) {
 *   refusal = String(error);
 * }
 * if (!refusal.includes("tool_choice: names no tool of the request")) throw new Error(refusal);
 * ```
 */
export function checkedConversation(conversation: Conversation): Conversation {
  const warnings = new Warnings(conversation.warnings);
  const tools = checkedTools(conversation.tools, warnings);
  checkChoice(conversation, tools);
  checkMedia(conversation);
  const { logprobs, output } = conversation;
  if (logprobs?.top !== undefined && logprobs.top > maxAlternatives) {
    invalid(logprobs.path, `at most ${maxAlternatives} alternatives are given`);
  }
  warnOfDisplay(conversation, warnings);
  const sampling = checkedSampling(conversation, warnings);
  return {
    ...conversation,
    tools,
    sampling,
    ...(output === undefined ? {} : { output: checkedOutput(output) }),
    warnings: warnings.list(),
  };
}

// Tools and their schemas.

/** A tool that the client runs. */
type OwnTool = FunctionTool | CustomTool;

/** Leaves out a tool that is there already; vendors refuse two of one name. */
function checkedTools(tools: readonly Tool[], warnings: Warnings): readonly Tool[] {
  const byName = new Map<string, OwnTool>();
  return tools.flatMap((given): Tool[] => {
    if (given.type === "hosted") return [given];
    const tool = given.type === "function" ? withSchema(given) : checkedFormat(given);
    if (tool.name === "") invalid(tool.path, "a tool has no name");
    const former = byName.get(tool.name);
    if (former === undefined) {
      byName.set(tool.name, tool);
      return [tool];
    }
    if (!saysTheSame(former, tool)) {
      invalid(tool.path, `another tool has the name ${quoted(tool.name)}`);
    }
    warnings.add(tool.path);
    return [];
  });
}

/** Compares what two tools say to a model, whatever the order in which they were written. */
function saysTheSame(one: OwnTool, other: OwnTool): boolean {
  return stringifyExactly(said(one)) === stringifyExactly(said(other));
}

function said(tool: OwnTool): Json {
  const { type, name, description = null } = tool;
  return tool.type === "function"
    ? [type, name, description, tool.schema ?? null, tool.strict ?? null]
    : [type, name, description, tool.format ?? null];
}

function withSchema(tool: FunctionTool): FunctionTool {
  if (tool.schema === undefined) return tool;
  const schema = wellFormed(tool.schema, refuseSchema(tool.path));
  return schema === tool.schema ? tool : { ...tool, schema };
}

function checkedOutput(output: OutputFormat): OutputFormat {
  if (output.type !== "json_schema") return output;
  return { ...output, schema: wellFormed(output.schema, refuseSchema(output.path)) };
}

function refuseSchema(path: string): (at: string, why: string) => never {
  return (at, why) =>
    invalid(path, `the JSON Schema is wrong: ${at.slice(0, maxToldChars)} ${why}`);
}

/** Characters of a place in a schema, or of a name, that a refusal repeats. */
const maxToldChars = 128;

function quoted(name: string): string {
  return stringifyExactly(name.slice(0, maxToldChars));
}

/** The syntaxes of grammars that the vendor of free-text tools has. */
const syntaxes: readonly unknown[] = ["lark", "regex"];

function checkedFormat(tool: CustomTool): CustomTool {
  const { format, path } = tool;
  if (format === undefined || format["type"] === "text") return tool;
  if (format["type"] !== "grammar") invalid(path, "format.type must be text or grammar");
  if (!syntaxes.includes(format["syntax"])) invalid(path, "the syntax must be lark or regex");
  if (typeof format["definition"] !== "string") invalid(path, "the definition must be a string");
  return tool;
}

/** A choice without any tools is named by the encoders, and left out. */
function checkChoice({ toolChoice }: Conversation, tools: readonly Tool[]): void {
  if (toolChoice === undefined || toolChoice.type === "none" || tools.length === 0) return;
  const names = new Set(
    tools.flatMap((tool) => tool.type === "hosted" ? [tool.kind, tool.name] : [tool.name]),
  );
  const named = toolChoice.type === "tool" ? [toolChoice.name] : toolChoice.allowed ?? [];
  const missing = named.find((name) => !names.has(name));
  if (missing === undefined) return;
  invalid(toolChoice.path, `names no tool of the request: ${quoted(missing)}`);
}

/** Ways to show thinking that some style has. */
const displays: ReadonlySet<string> = new Set([
  ...["auto", "concise", "detailed", "summarized", "omitted", "none", "updates"],
]);

function warnOfDisplay({ reasoning }: Conversation, warnings: Warnings): void {
  const display = reasoning?.display;
  if (display !== undefined && !displays.has(display.word)) warnings.add(display.path);
}

// Numbers.

/** Alternatives of each token: the most that any vendor gives. */
const maxAlternatives = 20;

/** The largest value of each, which no vendor exceeds. */
const ranges = { temperature: 2, top_p: 1 } as const;

function checkedSampling(conversation: Conversation, warnings: Warnings): Sampling {
  const { temperature, topP, stop, ...rest } = conversation.sampling;
  const given = { temperature, top_p: topP };
  for (const name of ["temperature", "top_p"] as const) {
    const value = given[name];
    if (value === undefined || (value >= 0 && value <= ranges[name])) continue;
    invalid(samplingPath(conversation, name), `must be between 0 and ${ranges[name]}`);
  }
  const real = stop?.filter((text) => text !== "");
  if (stop === undefined || real?.length === stop.length) return conversation.sampling;
  warnings.add(stopPath(conversation));
  return {
    ...rest,
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(real === undefined || real.length === 0 ? {} : { stop: real }),
  };
}

// Pictures, sound and documents.

function checkMedia({ turns }: Conversation): void {
  for (const turn of turns) for (const block of turn.blocks) checkBlock(block);
}

function checkBlock(block: Block): void {
  switch (block.type) {
    case "image":
      return checkSource(block.source, block.path);
    case "audio":
      return checkData(block.source, block.path);
    case "document":
      if (block.source.kind === "text") return;
      if (block.source.kind !== "blocks") return checkSource(block.source, block.path);
      return block.source.blocks.forEach(checkBlock);
    case "tool_result":
      return block.content.forEach(checkBlock);
  }
}

function checkSource(source: MediaSource, path: string): void {
  if (source.kind === "base64") checkData(source, path);
  else if (source.kind === "url" && source.url.trim() === "") invalid(path, "the URL is empty");
}

/** The form of a media type without parameters. */
const mediaTypeForm = /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/;

function checkData(
  { mediaType, data }: { readonly mediaType: string; readonly data: string },
  path: string,
): void {
  if (data === "") invalid(path, "the data is empty");
  if (!mediaTypeForm.test(mediaType)) invalid(path, "the media type is none");
}
