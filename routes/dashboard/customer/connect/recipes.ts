/** Settings of coding agents and other tools, to copy. */
import type { Locale } from "../../text/i18n.ts";
import { type Snippet, snippets } from "./connect_snippets.ts";

/** What a recipe fills in. */
export interface RecipeFacts {
  readonly baseUrl: string;
  readonly model: string;
  /** The secret, or a placeholder. */
  readonly key: string;
}

/** How one tool is set up. */
export interface Recipe {
  readonly name: string;
  /** Where the settings belong. */
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
