/** Writes tools and tool choice as Gemini fields. */
import { defined } from "../../../lib/base/defined.ts";
import { noneUnhandled } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type {
  Conversation,
  FunctionTool,
  HostedToolRequest,
  Placed,
  ToolChoice,
} from "../../conversation/mod.ts";
import { warnOfMark } from "../../fields/cache_marks.ts";
import {
  carriedChoice,
  carriedHosted,
  parallelPath,
  refuseForced,
  strictPath,
  warnOfIdleChoice,
  warnOfRequested,
} from "../../tools/tool_fields.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { carriedSchema } from "./schema.ts";

// What becomes of each member of a tool here. A new member does not compile until it has a row.
noneUnhandled<
  Exclude<
    keyof FunctionTool,
    keyof Placed | "type" | "name" | "description" | "schema" | "strict" | "strictPath"
  >
>();

/** The fields of a conversation that this file reads. */
type ToolFields = Pick<Conversation, "from" | "tools" | "toolChoice" | "parallelTools">;

/** Adds `tools` and `toolConfig` to the body. Returns whether the vendor runs any of the tools. */
export function encodeGeminiTools(
  conversation: ToolFields,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): boolean {
  const declarations = conversation.tools.flatMap((tool) =>
    // Free-text tools are functions by now: the style has none.
    tool.type === "function" ? [encodeFunction(tool, warnings)] : []
  );
  const hasFunctions = declarations.length > 0;
  const mixing = mixingOf(capabilities);
  const hosted = encodeHosted(conversation, options, warnings, hasFunctions && mixing === "no");
  const tools = [
    ...(hasFunctions ? [{ functionDeclarations: declarations }] : []),
    ...hosted,
  ];
  if (tools.length > 0) body.tools = tools;
  const isHosted = hosted.length > 0;
  if (!hasFunctions) {
    warnOfIdleChoice(conversation.toolChoice, warnings);
    return isHosted;
  }
  const config = encodeToolConfig(
    conversation,
    capabilities,
    warnings,
    isHosted && mixing === "invocations",
  );
  if (Object.keys(config).length > 0) body.toolConfig = config;
  // The style has no switch for it.
  if (conversation.parallelTools === false) warnings.add(parallelPath(conversation));
  return isHosted;
}

/** How the model takes hosted tools beside functions; models up to 2.5, which think by budget, do not. */
function mixingOf(
  { thinking, mixed_tools }: ResolvedCapabilities,
): ResolvedCapabilities["mixed_tools"] {
  return thinking === "adaptive" ? mixed_tools : "no";
}

function encodeToolConfig(
  { toolChoice }: ToolFields,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  showsInvocations: boolean,
): JsonObject {
  const choice = toolChoice === undefined
    ? undefined
    : encodeChoice(carriedChoice(toolChoice, capabilities, warnings));
  if (!showsInvocations) return choice === undefined ? {} : { functionCallingConfig: choice };
  return {
    // The vendor knows no AUTO beside the calls of its own tools.
    functionCallingConfig: choice === undefined || choice.mode === "AUTO"
      ? { mode: "VALIDATED" }
      : choice,
    includeServerSideToolInvocations: true,
  };
}

function encodeFunction(tool: FunctionTool, warnings: Warnings): JsonObject {
  warnOfMark(tool, warnings);
  if (tool.strict === true) warnings.add(strictPath(tool));
  const { name, description } = tool;
  const carried = tool.schema === undefined ? undefined : carriedSchema(tool.schema);
  if (carried?.isLoose === true) warnings.add(tool.path);
  return { name, ...defined({ description, parametersJsonSchema: carried?.schema }) };
}

function encodeChoice(choice: ToolChoice): JsonObject {
  switch (choice.type) {
    case "auto":
      return { mode: "AUTO" };
    case "none":
      return { mode: "NONE" };
    case "required":
      return { mode: "ANY" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
  }
}

const hostedNames: ReadonlyMap<HostedToolRequest["tool"], string> = new Map(
  [
    ["web_search", "googleSearch"],
    ["web_fetch", "urlContext"],
    ["code_execution", "codeExecution"],
  ] as const,
);

/** Writes the hosted tools that the vendor has too. They take no options, and none can be forced beside others. */
function encodeHosted(
  conversation: ToolFields,
  options: ConversionOptions,
  warnings: Warnings,
  isExcluded: boolean,
): JsonObject[] {
  const has = ({ tool }: HostedToolRequest) => !isExcluded && hostedNames.has(tool);
  return carriedHosted(conversation, options, warnings, has).flatMap(({ requested, ...tool }) => {
    if (conversation.tools.length > 1) refuseForced(tool, conversation.toolChoice);
    if (requested.tool === "web_search") {
      const { allowedDomains, blockedDomains, location, maxUses, contextSize } = requested;
      warnOfRequested([allowedDomains, blockedDomains, location, maxUses, contextSize], warnings);
    }
    for (const path of requested.others) warnings.add(path);
    const name = hostedNames.get(requested.tool);
    return name === undefined ? [] : [{ [name]: {} }];
  });
}
