/** Settings of coding agents and other tools, to copy. */
import type { Locale } from "../../text/i18n.ts";

// The code of the connect page, in a file of its own so that a test can run what customers copy.

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
 * import { snippets } from "./recipes.ts";
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

/** Facts that a recipe fills in. */
export interface RecipeFacts {
  readonly baseUrl: string;
  readonly model: string;
  /** The secret, or a placeholder. */
  readonly key: string;
}

/** Recipe for one tool. */
export interface Recipe {
  readonly name: string;
  /** Place of the settings. */
  readonly text: Readonly<Record<Locale, string>>;
  readonly code: readonly Snippet[];
}

/** The placeholder of a key that is not known. */
export const keyPlaceholder = "YOUR_KEY";

/**
 * Writes the recipes.
 *
 * @example
 * ```ts
 * import { recipes } from "./recipes.ts";
 * const list = recipes({ baseUrl: "https://gw.example", model: "premium-1", key: "sk-1" });
 * if (!list.every(({ code }) => code.some((part) => part.code.includes("sk-1")))) throw new Error("no key");
 * ```
 */
export function recipes(facts: RecipeFacts): readonly Recipe[] {
  return [
    claudeCode(facts),
    codex(facts),
    opencode(facts),
    cursor(facts),
    n8n(facts),
    gemini(facts),
  ];
}

/** The snippets of SDKs as recipes, with the key filled in. */
export function sdkRecipes({ baseUrl, model, key }: RecipeFacts): readonly Recipe[] {
  const { chat, messages } = snippets(baseUrl, model);
  const filled = (list: readonly Snippet[]) =>
    list.map(({ name, code }) => ({ name, code: code.replaceAll(keyPlaceholder, key) }));
  return [
    {
      name: "curl, Python, TypeScript: Chat Completions",
      text: {
        en: "The base address ends in /v1.",
        vi: "Địa chỉ gốc kết thúc bằng /v1.",
      },
      code: filled(chat),
    },
    {
      name: "curl, Python, TypeScript: Messages",
      text: {
        en: "The base address has no /v1.",
        vi: "Địa chỉ gốc không có /v1.",
      },
      code: filled(messages),
    },
  ];
}

function claudeCode({ baseUrl, model, key }: RecipeFacts): Recipe {
  return {
    name: "Claude Code",
    text: {
      en: "In the shell where you start it, or in your shell's profile.",
      vi: "Trong cửa sổ lệnh nơi bạn chạy nó, hoặc trong tệp cấu hình của shell.",
    },
    code: [{
      name: "Shell",
      code: [
        `export ANTHROPIC_BASE_URL="${baseUrl}"`,
        `export ANTHROPIC_AUTH_TOKEN="${key}"`,
        `export ANTHROPIC_MODEL="${model}"`,
        "claude",
      ].join("\n"),
    }],
  };
}

function codex({ baseUrl, model, key }: RecipeFacts): Recipe {
  return {
    name: "Codex",
    text: {
      en: "The settings are a file, the key an environment variable.",
      vi: "Cấu hình nằm trong một tệp, khoá API là biến môi trường.",
    },
    code: [
      {
        name: "~/.codex/config.toml",
        code: [
          `model = "${model}"`,
          'model_provider = "gateway"',
          'web_search = "disabled"',
          "",
          "[model_providers.gateway]",
          'name = "gateway"',
          `base_url = "${baseUrl}/v1"`,
          'env_key = "GATEWAY_API_KEY"',
          'wire_api = "responses"',
        ].join("\n"),
      },
      { name: "Shell", code: `export GATEWAY_API_KEY="${key}"\ncodex` },
    ],
  };
}

function opencode({ baseUrl, model, key }: RecipeFacts): Recipe {
  const settings = {
    $schema: "https://opencode.ai/config.json",
    model: `gateway/${model}`,
    provider: {
      gateway: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${baseUrl}/v1`, apiKey: key },
        models: { [model]: {} },
      },
    },
  };
  return {
    name: "opencode",
    text: {
      en: "A file in the project, or in your home folder.",
      vi: "Một tệp trong dự án, hoặc trong thư mục của bạn.",
    },
    code: [{ name: "opencode.json", code: JSON.stringify(settings, undefined, 2) }],
  };
}

function cursor({ baseUrl, model, key }: RecipeFacts): Recipe {
  return {
    name: "Cursor",
    text: {
      en:
        "Settings, Models, API Keys: enter the key under OpenAI API Key, switch on Override OpenAI Base URL, and add the model by its name.",
      vi:
        "Settings, Models, API Keys: điền khoá vào OpenAI API Key, bật Override OpenAI Base URL, rồi thêm mô hình theo tên.",
    },
    code: [
      { name: "OpenAI API Key", code: key },
      { name: "Override OpenAI Base URL", code: `${baseUrl}/v1` },
      { name: "Model", code: model },
    ],
  };
}

function n8n({ baseUrl, model, key }: RecipeFacts): Recipe {
  return {
    name: "n8n",
    text: {
      en: "Credentials, OpenAI: enter the key and the base URL; name the model in the node.",
      vi: "Credentials, OpenAI: điền khoá API và Base URL; ghi tên mô hình trong node.",
    },
    code: [
      { name: "API Key", code: key },
      { name: "Base URL", code: `${baseUrl}/v1` },
      { name: "Model", code: model },
    ],
  };
}

function gemini({ baseUrl, model, key }: RecipeFacts): Recipe {
  return {
    name: "Gemini CLI",
    text: {
      en: "Take the key when it asks how to sign in. Any model works.",
      vi: "Khi được hỏi cách đăng nhập, hãy chọn khoá API. Mô hình nào cũng dùng được.",
    },
    code: [{
      name: "Shell",
      code: [
        `export GOOGLE_GEMINI_BASE_URL="${baseUrl}"`,
        `export GEMINI_API_KEY="${key}"`,
        `gemini --model ${model}`,
      ].join("\n"),
    }],
  };
}
