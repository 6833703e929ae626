/** Answers to be mutated: written by hand in each style, and those of the recordings where there are some. */
import type { ProviderStyle } from "../../../core/wire/contract/contract.ts";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import {
  wholeChat,
  wholeGemini,
  wholeMessages,
  wholeResponses,
} from "../../agents/whole_answers.ts";
import type { ScriptedEvent } from "../../agents/scripted_turn.ts";
import { type Frame, framesOf } from "../../support/mutations.ts";
import { type Say, streams, wholeConverse } from "../matrix/says.ts";
import { readAllRecordings, recordingsFolder } from "../recordings.ts";

/** An answer of a provider: whole, or the events of its stream. */
export interface Original {
  readonly name: string;
  readonly style: ProviderStyle;
  readonly whole?: JsonObject;
  readonly frames?: readonly Frame[];
}

export const providerStyles: readonly ProviderStyle[] = [
  "messages",
  "chat",
  "responses",
  "gemini",
  "converse",
];

const says: Readonly<Record<string, Say>> = {
  text: { text: "Hanoi answers clearly", stop: "end" },
  cut: { thinking: "Pondering deeply", text: "Hanoi answers", stop: "length" },
  calls: { text: "Calling tools", calls: ["get_weather", "get_time"], stop: "calls" },
  all: {
    thinking: "Pondering deeply",
    text: "Hanoi answers clearly",
    calls: ["get_weather"],
    stop: "calls",
  },
};

function framesOfEvents(events: readonly ScriptedEvent[], style: ProviderStyle): Frame[] {
  const frames = events.map(({ name, value }): Frame => ({
    event: name,
    data: JSON.stringify(value),
  }));
  return style === "chat" ? [...frames, { event: undefined, data: "[DONE]" }] : frames;
}

function wholeOf(style: ProviderStyle, say: Say, events: readonly ScriptedEvent[]): JsonObject {
  switch (style) {
    case "messages":
      return wholeMessages(events);
    case "chat":
      return { ...wholeChat(events), object: "chat.completion" };
    case "responses":
      return wholeResponses(events);
    case "gemini":
      return wholeGemini(events);
    case "converse":
      return wholeConverse(say);
  }
}

function written(style: ProviderStyle): Original[] {
  return Object.entries(says).flatMap(([name, say]): Original[] => {
    const events = [...streams[style](say)];
    return [
      { name: `${style} ${name}`, style, whole: wholeOf(style, say, events) },
      { name: `${style} ${name} stream`, style, frames: framesOfEvents(events, style) },
    ];
  });
}

function recorded(folder: string): Original[] {
  return readAllRecordings(folder).flatMap(({ name, style, status, answer, stream }) => {
    // A count of tokens is no answer, and what was refused has none.
    if (status !== 200 || name.includes("count-tokens")) return [];
    const found: Original[] = [];
    if (isJsonObject(answer)) found.push({ name, style, whole: answer });
    if (stream !== undefined) {
      const frames = framesOf(new TextDecoder().decode(stream));
      found.push({ name: `${name} stream`, style, frames });
    }
    return found;
  });
}

/** All answers: each with its name, whole ones and streams apart. */
export function originals(): readonly Original[] {
  const folder = recordingsFolder();
  return [
    ...providerStyles.flatMap(written),
    ...folder === undefined ? [] : recorded(folder),
  ];
}
