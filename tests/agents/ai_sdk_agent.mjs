// A tool loop as the AI SDK's documentation has it: streamed, and with the packages' defaults (Responses asks for a
// store, and refers to its items by id).
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { isStepCount, streamText, tool } from "ai";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { z } from "zod";

const [provider, name, prompt] = process.argv.slice(2);
const access = { baseURL: process.env.BASE, apiKey: process.env.KEY };
const model = provider === "anthropic"
  ? createAnthropic(access)(name)
  : provider === "openai.chat"
  ? createOpenAI(access).chat(name)
  : createOpenAI(access)(name);

const result = streamText({
  model,
  prompt,
  maxOutputTokens: 1_000,
  stopWhen: isStepCount(5),
  onError: ({ error }) => console.error(error),
  tools: {
    read_note: tool({
      description: "Reads note.txt",
      inputSchema: z.object({}),
      execute: () => readFile("note.txt", "utf8"),
    }),
    edit_note: tool({
      description: "Replaces a word in note.txt",
      inputSchema: z.object({ from: z.string(), to: z.string() }),
      execute: async ({ from, to }) => {
        await writeFile(
          "note.txt",
          (await readFile("note.txt", "utf8")).replace(from, to),
        );
        return "replaced";
      },
    }),
  },
});
console.log(await result.text);
