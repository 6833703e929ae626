/** How each agent is started against the gateway, and which of its tools the scripted model uses. */
import type { Style } from "../../core/wire/contract/contract.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { programs } from "./installed.ts";
import type { Script } from "./scripted_upstream.ts";

/** One run: the gateway's address and key, the model, and an empty folder of its own. */
export interface AgentTask {
  readonly address: string;
  readonly key: string;
  readonly model: string;
  /** Contains `work/note.txt` with the text alpha, and `home/`, the home of the agent. */
  readonly folder: string;
  /** Continues the conversation of earlier runs in this folder; only agents of {@linkcode resumable} do. */
  readonly isResumed: boolean;
}

export interface Agent {
  readonly name: string;
  /** The wire style it uses. */
  readonly style: Style;
  /** The tool calls of the model, in order; they edit only `note.txt`. */
  steps(note: string): readonly (readonly [tool: string, input: JsonObject])[];
  /** Writes its configuration and returns its command line. */
  prepare(task: AgentTask): Promise<AgentCommand>;
}

export interface AgentCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const prompt = "Edit note.txt in this folder: alpha becomes beta. Then say that it is done.";

/** The script that walks through the agent's steps. */
export function scriptOf(agent: Agent, note: string): Script {
  const steps = agent.steps(note);
  return ({ toolResults, tools }) => {
    const due = steps[toolResults];
    if (due === undefined) return undefined;
    const tool = tools.find(({ name }) => name === due[0]);
    if (tool === undefined) {
      const offered = tools.map(({ name }) => name).join(", ");
      throw new Error(`${agent.name} offers no tool ${due[0]}, but ${offered}`);
    }
    return { tool, input: due[1] };
  };
}

/** The script of a conversation: in each turn the agent's first tool once, then a text. */
export function conversationOf(agent: Agent, note: string): Script {
  const [first] = agent.steps(note);
  let answeredResults = 0;
  return ({ toolResults, tools }) => {
    const tool = tools.find(({ name }) => name === first?.[0]);
    if (first === undefined || tool === undefined || toolResults > answeredResults) {
      answeredResults = toolResults;
      return undefined;
    }
    return { tool, input: first[1] };
  };
}

/** The tools of Claude Code, which its SDK has, too. */
function claudeSteps(note: string): ReturnType<Agent["steps"]> {
  return [
    ["Read", { file_path: note }],
    ["Edit", { file_path: note, old_string: "alpha", new_string: "beta" }],
  ];
}

function claudeEnv({ address, key, model }: AgentTask): AgentCommand["env"] {
  return {
    ANTHROPIC_BASE_URL: address,
    ANTHROPIC_AUTH_TOKEN: key,
    // A vendor's key of the user, which is sent beside the gateway's.
    ANTHROPIC_API_KEY: "sk-ant-api03-of-the-vendor",
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    MAX_THINKING_TOKENS: "4000",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
  };
}

const claudeCode: Agent = {
  name: "claude code",
  style: "messages",
  steps: claudeSteps,
  prepare: (task) =>
    Promise.resolve({
      program: programs.claude,
      args: [
        ...task.isResumed ? ["--continue"] : [],
        ...["-p", prompt, "--permission-mode", "acceptEdits", "--output-format", "json"],
      ],
      env: claudeEnv(task),
    }),
};

const claudeAgentSdk: Agent = {
  name: "claude agent sdk",
  style: "messages",
  steps: claudeSteps,
  prepare: (task) =>
    Promise.resolve({
      program: programs.node,
      args: [programs.agentSdk, task.model, prompt],
      env: claudeEnv(task),
    }),
};

const qwenCode: Agent = {
  name: "qwen code",
  style: "chat",
  steps: (note) => [
    ["read_file", { file_path: note }],
    ["edit", { file_path: note, old_string: "alpha", new_string: "beta" }],
  ],
  async prepare({ address, key, model, folder }) {
    const settings = {
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false },
      model: { skipLoopDetection: true },
    };
    await Deno.mkdir(`${folder}/home/.qwen`);
    await Deno.writeTextFile(`${folder}/home/.qwen/settings.json`, JSON.stringify(settings));
    return {
      program: programs.qwen,
      args: [
        ...["--auth-type", "openai", "-m", model, "-p", prompt],
        ...["--approval-mode", "yolo", "-o", "json"],
      ],
      env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${address}/v1`, OPENAI_MODEL: model },
    };
  },
};

const continueCli: Agent = {
  name: "continue",
  style: "chat",
  steps: (note) => [
    ["Read", { filepath: note }],
    // Which tool it has for edits depends on the name of the model.
    ["Write", { filepath: note, content: "beta\n" }],
  ],
  async prepare({ address, key, model, folder }) {
    const config = `name: test
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${address}/v1
    apiKey: ${key}
    roles: [chat]
    capabilities: [tool_use]
`;
    const path = `${folder}/home/config.yaml`;
    await Deno.writeTextFile(path, config);
    return {
      program: programs.continue,
      args: ["--config", path, "--auto", "-p", prompt],
      env: { CONTINUE_TELEMETRY_ENABLED: "0", CONTINUE_CLI_ENABLE_TELEMETRY: "0" },
    };
  },
};

const cline: Agent = {
  name: "cline",
  style: "chat",
  steps: (note) => [
    ["read_files", { files: [{ path: note }] }],
    ["editor", { path: note, old_text: "alpha", new_text: "beta" }],
  ],
  async prepare({ address, key, model, folder }) {
    const options = ["--apikey", key, "--modelid", model, "--baseurl", `${address}/v1`];
    const { success, stderr, stdout } = await new Deno.Command(programs.cline, {
      args: ["auth", "--provider", "openai", ...options],
      env: { HOME: `${folder}/home` },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (!success) {
      throw new Error(new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout));
    }
    // By itself it leaves a daemon behind, which would outlive the tests.
    const env = { CLINE_SESSION_BACKEND_MODE: "local" };
    return { program: programs.cline, args: ["--json", prompt], env };
  },
};

const codex: Agent = {
  name: "codex",
  style: "responses",
  steps: () => [
    ["exec_command", { cmd: "cat note.txt" }],
    ["exec_command", { cmd: "sed -i s/alpha/beta/ note.txt" }],
  ],
  async prepare({ address, key, model, folder, isResumed }) {
    const config = `
model = "${model}"
model_provider = "gateway"
web_search = "disabled"

[model_providers.gateway]
name = "gateway"
base_url = "${address}/v1"
env_key = "KEY"
wire_api = "responses"
`;
    await Deno.mkdir(`${folder}/home/.codex`, { recursive: true });
    await Deno.writeTextFile(`${folder}/home/.codex/config.toml`, config);
    return {
      program: programs.codex,
      args: [
        "exec",
        ...isResumed ? ["resume", "--last"] : [],
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--json",
        prompt,
      ],
      env: { KEY: key },
    };
  },
};

const opencode: Agent = {
  name: "opencode",
  style: "chat",
  steps: (note) => [
    ["read", { filePath: note }],
    ["edit", { filePath: note, oldString: "alpha", newString: "beta" }],
  ],
  async prepare({ address, key, model, folder }) {
    const config = {
      model: `gateway/${model}`,
      small_model: `gateway/${model}`,
      autoupdate: false,
      share: "disabled",
      permission: { edit: "allow", bash: "allow" },
      provider: {
        gateway: {
          npm: "@ai-sdk/openai-compatible",
          name: "gateway",
          options: { baseURL: `${address}/v1`, apiKey: key },
          models: { [model]: { name: model, tool_call: true } },
        },
      },
    };
    await Deno.writeTextFile(
      `${folder}/work/opencode.json`,
      JSON.stringify(config),
    );
    return {
      program: programs.opencode,
      args: ["run", "--format", "json", prompt],
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
      },
    };
  },
};

const geminiCli: Agent = {
  name: "gemini cli",
  style: "gemini",
  steps: (note) => [
    ["read_file", { file_path: note }],
    ["replace", {
      file_path: note,
      instruction: "Replace alpha by beta",
      old_string: "alpha",
      new_string: "beta",
    }],
  ],
  async prepare({ address, key, model, folder }) {
    const settings = {
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      // The endless answer of the scripted model repeats a word.
      model: { disableLoopDetection: true },
    };
    await Deno.mkdir(`${folder}/home/.gemini`);
    await Deno.writeTextFile(`${folder}/home/.gemini/settings.json`, JSON.stringify(settings));
    return {
      program: programs.gemini,
      args: ["-m", model, "-p", prompt, "--approval-mode", "yolo", "--skip-trust", "-o", "json"],
      env: {
        GEMINI_API_KEY: key,
        GOOGLE_GEMINI_BASE_URL: address,
        // One process, so that it gets the interruption itself: in a terminal the whole group does.
        GEMINI_CLI_NO_RELAUNCH: "true",
      },
    };
  },
};

/** The AI SDK's loop with one of its provider packages, streaming or not. */
function aiSdk(
  provider: "openai" | "openai.chat" | "anthropic",
  style: Style,
): Agent {
  return {
    name: `ai sdk, ${provider}`,
    style,
    steps: () => [
      ["read_note", {}],
      ["edit_note", { from: "alpha", to: "beta" }],
    ],
    prepare: ({ address, key, model }) =>
      Promise.resolve({
        program: Deno.execPath(),
        args: [
          "run",
          "--allow-all",
          "--no-config",
          "--node-modules-dir=manual",
          programs.aiSdk,
          provider,
          model,
          prompt,
        ],
        env: { BASE: `${address}/v1`, KEY: key },
      }),
  };
}

export const agents = {
  claudeCode,
  claudeAgentSdk,
  qwenCode,
  cline,
  continueCli,
  codex,
  opencode,
  geminiCli,
  aiSdkResponses: aiSdk("openai", "responses"),
  aiSdkChat: aiSdk("openai.chat", "chat"),
  aiSdkMessages: aiSdk("anthropic", "messages"),
} as const;

export type AgentName = keyof typeof agents;

/** Agents that continue a conversation when they are started again. */
export const resumable = ["claudeCode", "codex"] as const satisfies readonly AgentName[];
