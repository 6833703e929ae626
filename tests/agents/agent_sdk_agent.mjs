// The Claude Agent SDK with its default tools: node agent_sdk_agent.mjs MODEL PROMPT
import { query } from "@anthropic-ai/claude-agent-sdk";

const [model, prompt] = process.argv.slice(2);
let code = 1;
for await (
  const message of query({
    prompt,
    options: { model, permissionMode: "acceptEdits", env: process.env },
  })
) {
  console.log(JSON.stringify(message));
  if (message.type === "result") code = message.subtype === "success" ? 0 : 1;
}
process.exit(code);
