/** The code of the connect page, in a file of its own so that a test can run what customers copy. */

/** One piece of code with its title. */
export interface Snippet {
  readonly name: string;
  readonly code: string;
}

/** All code of the page, by kind of client. */
export interface Snippets {
  readonly messages: readonly Snippet[];
  readonly chat: readonly Snippet[];
}

/**
 * Builds the snippets for a service at `baseUrl` (without a trailing slash).
 *
 * @example
 * ```ts
 * import { snippets } from "./connect_snippets.ts";
 * const { messages, chat } = snippets("https://gw.example", "premium-1");
 * if (!messages[1]?.code.includes('"https://gw.example"')) throw new Error("the Messages SDK adds /v1 itself");
 * if (!chat[1]?.code.includes('"https://gw.example/v1"')) throw new Error("the Chat SDK wants /v1");
 * ```
 */
export function snippets(baseUrl: string, model: string): Snippets {
  return {
    messages: [
      { name: "curl", code: messagesCurl(baseUrl, model) },
      { name: "Python", code: messagesPython(baseUrl, model) },
      { name: "TypeScript", code: messagesTypeScript(baseUrl, model) },
    ],
    chat: [
      { name: "curl", code: chatCurl(baseUrl, model) },
      { name: "Python", code: chatPython(baseUrl, model) },
      { name: "TypeScript", code: chatTypeScript(baseUrl, model) },
    ],
  };
}

function messagesPython(baseUrl: string, model: string): string {
  return `from anthropic import Anthropic

client = Anthropic(
    base_url="${baseUrl}",
    api_key="YOUR_KEY",
)
message = client.messages.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello!"}],
)
print(message.content[0].text)`;
}

function messagesTypeScript(baseUrl: string, model: string): string {
  return `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${baseUrl}",
  apiKey: "YOUR_KEY",
});
const message = await client.messages.create({
  model: "${model}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(message.content);`;
}

function messagesCurl(baseUrl: string, model: string): string {
  return `curl ${baseUrl}/v1/messages \\
  -H "x-api-key: YOUR_KEY" \\
  -H "content-type: application/json" \\
  -d '{"model": "${model}", "max_tokens": 1024,
       "messages": [{"role": "user", "content": "Hello!"}]}'`;
}

function chatPython(baseUrl: string, model: string): string {
  return `from openai import OpenAI

client = OpenAI(
    base_url="${baseUrl}/v1",
    api_key="YOUR_KEY",
)
answer = client.chat.completions.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`;
}

function chatTypeScript(baseUrl: string, model: string): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${baseUrl}/v1",
  apiKey: "YOUR_KEY",
});
const answer = await client.chat.completions.create({
  model: "${model}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(answer.choices[0].message.content);`;
}

function chatCurl(baseUrl: string, model: string): string {
  return `curl ${baseUrl}/v1/chat/completions \\
  -H "authorization: Bearer YOUR_KEY" \\
  -H "content-type: application/json" \\
  -d '{"model": "${model}", "max_tokens": 1024,
       "messages": [{"role": "user", "content": "Hello!"}]}'`;
}
