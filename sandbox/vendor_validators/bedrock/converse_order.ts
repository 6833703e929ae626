/**
 * Checks that span several fields: turns, calls and results, and fields that need each other
 * (docs/internals/WIRE_FORMATS.md#converse-messages). Each check returns the vendor's refusal or `undefined`.
 */
import type { ConverseRequest } from "./converse_schema.ts";

type Check = (request: ConverseRequest) => string | undefined;
type Message = ConverseRequest["messages"][number];

/** Most cache points of one request. */
const cachePointsPerRequest = 4;

function calls({ content }: Message): string[] {
  return content.flatMap(({ toolUse }) => toolUse === undefined ? [] : [toolUse.toolUseId]);
}

function results({ content }: Message): string[] {
  return content.flatMap(({ toolResult }) =>
    toolResult === undefined ? [] : [toolResult.toolUseId]
  );
}

const rolesAlternate: Check = ({ messages }) => {
  if (messages[0]?.role !== "user") {
    return "A conversation must start with a user message. Try again with a conversation that starts with a user message.";
  }
  const repeats = messages.some(({ role }, i) => role === messages[i - 1]?.role);
  return repeats
    ? "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
    : undefined;
};

const callsInPlace: Check = ({ messages }) => {
  const seen = new Set<string>();
  for (const [at, message] of messages.entries()) {
    const made = calls(message);
    const given = results(message);
    if (message.role === "user" ? made.length > 0 : given.length > 0) {
      return `messages.${at}: the role cannot have such blocks.`;
    }
    const open = messages[at - 1] === undefined ? [] : calls(messages[at - 1] ?? message);
    if (given.length > open.length) {
      return `The number of toolResult blocks at messages.${at}.content exceeds the number of toolUse blocks of previous turn.`;
    }
    const missing = open.filter((id) => !given.includes(id));
    if (missing.length > 0) {
      return `Expected toolResult blocks at messages.${at}.content for the following Ids: ${
        missing.join(", ")
      }`;
    }
    for (const id of made) {
      if (seen.has(id)) return `The toolUse block at messages.${at} contains a duplicate Id: ${id}`;
      seen.add(id);
    }
  }
  const last = messages.at(-1);
  return last !== undefined && calls(last).length > 0
    ? "Expected toolResult blocks after the last message."
    : undefined;
};

const resultsFirst: Check = ({ messages }) =>
  messages.some(({ content }) => {
      const last = content.findLastIndex(({ toolResult }) => toolResult !== undefined);
      return content.slice(0, Math.max(last, 0)).some((block) =>
        block.toolResult === undefined && block.cachePoint === undefined
      );
    })
    ? "toolResult blocks must come first in the content of a message."
    : undefined;

const toolsForCalls: Check = ({ messages, toolConfig }) =>
  toolConfig === undefined &&
    messages.some((message) => calls(message).length + results(message).length > 0)
    ? "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    : undefined;

const choiceNamesTool: Check = ({ toolConfig }) => {
  if (toolConfig === undefined) return undefined;
  const names = toolConfig.tools.flatMap(({ toolSpec }) =>
    toolSpec === undefined ? [] : [toolSpec.name]
  );
  if (names.length === 0) return "toolConfig.tools has no tool.";
  if (new Set(names).size < names.length) return "The tools have a duplicate name.";
  const forced = toolConfig.toolChoice?.tool?.name;
  return forced === undefined || names.includes(forced)
    ? undefined
    : `The tool ${forced} of toolChoice is not in tools.`;
};

const documentsNamed: Check = ({ messages }) => {
  const names = new Set<string>();
  for (const { content } of messages) {
    const documents = content.flatMap(({ document, toolResult }) => [
      ...document === undefined ? [] : [document],
      ...(toolResult?.content ?? []).flatMap((inner) =>
        inner.document === undefined ? [] : [inner.document]
      ),
    ]);
    for (const { name } of documents) {
      if (names.has(name)) return "Messages contains duplicate document names. Remove duplicates.";
      names.add(name);
    }
    const isAlone = content.some(({ document }) => document !== undefined) &&
      content.every(({ text }) => text === undefined);
    if (isAlone) return "The model needs a text block beside a document.";
  }
  return undefined;
};

const marksBounded: Check = ({ messages, system = [], toolConfig }) => {
  const places = [
    ...messages.flatMap(({ content }) => content),
    ...system,
    ...toolConfig?.tools ?? [],
  ];
  const marks = places.filter(({ cachePoint }) => cachePoint !== undefined).length;
  return marks > cachePointsPerRequest
    ? `You can have at most ${cachePointsPerRequest} cache points in a request.`
    : undefined;
};

/** All checks, in the order in which the vendor reports. */
export const converseChecks: readonly Check[] = [
  rolesAlternate,
  toolsForCalls,
  callsInPlace,
  resultsFirst,
  choiceNamesTool,
  documentsNamed,
  marksBounded,
];
