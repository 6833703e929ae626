/**
 * A gateway process in production mode whose providers are scripted vendors, and agents that run against it. Every
 * model of the gateway has another name at its vendor.
 */
import { assertEquals } from "../support/assert.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";
import type { Agent } from "./agents.ts";
import { compiledFolder, runtimeFolder } from "./installed.ts";
import { type Script, ScriptedUpstream, type Seen, type Trouble } from "./scripted_upstream.ts";

/** The vendor's name of every model, which no client may see. */
export const vendorModel = "vendor-internal-2026-09-01";

const vndPerMtok = 8_300;
const creditVnd = 1_000_000;
/** An agent that does not end fails its test, so that the suite never hangs. */
const agentTimeoutMs = 240_000;

/** One model with a vendor of its own. */
export interface Scene {
  /** Id of the model. */
  readonly model: string;
  readonly agent: Agent;
  /** Routes in the order of their priority: provider name and style. */
  readonly routes: readonly (readonly [provider: string, style: Style])[];
  readonly trouble?: (seen: Seen, earlier: number) => Trouble;
}

export interface RanAgent {
  readonly code: number;
  readonly output: string;
  /** What `note.txt` says afterwards. */
  readonly note: string;
}

interface OpenScene {
  readonly scene: Scene;
  readonly folder: string;
  readonly upstream: ScriptedUpstream;
}

export class AgentsWorld implements AsyncDisposable {
  readonly #scenes: ReadonlyMap<string, OpenScene>;
  readonly #gateway: StartedGateway;
  readonly #key: string;
  readonly #folder: string;

  private constructor(
    scenes: ReadonlyMap<string, OpenScene>,
    gateway: StartedGateway,
    key: string,
    folder: string,
  ) {
    this.#scenes = scenes;
    this.#gateway = gateway;
    this.#key = key;
    this.#folder = folder;
  }

  static async open(
    scenes: readonly Scene[],
    scriptOf: (agent: Agent, note: string) => Script,
  ): Promise<AgentsWorld> {
    const folder = await Deno.makeTempDir({ prefix: "gateway-agents-" });
    const open = new Map<string, OpenScene>();
    for (const scene of scenes) {
      const home = `${folder}/${scene.model}`;
      await Deno.mkdir(`${home}/home`, { recursive: true });
      await Deno.mkdir(`${home}/work`);
      await Deno.writeTextFile(`${home}/work/note.txt`, "alpha\n");
      const upstream = new ScriptedUpstream({
        model: vendorModel,
        script: scriptOf(scene.agent, `${home}/work/note.txt`),
        ...(scene.trouble !== undefined && { trouble: scene.trouble }),
      });
      open.set(scene.model, { scene, folder: home, upstream });
    }
    await Deno.writeTextFile(
      `${folder}/gateway.json`,
      JSON.stringify(configuration(open)),
    );
    const gateway = await startGateway({
      folder,
      env: {
        GATEWAY_CONFIG: `${folder}/gateway.json`,
        VENDOR_KEY: "vendor-secret",
        VENDOR_KEY_2: "vendor-secret-2",
      },
    });
    const email = "agent@example.com";
    await gateway.admin("account", "create", "--email", email);
    const made = await gateway.admin("key", "create", email);
    await gateway.admin("credit", email, String(creditVnd), "--reason", "test");
    const key = /sk-[A-Za-z0-9]+/.exec(made.output)?.[0] ?? "";
    return new AgentsWorld(open, gateway, key, folder);
  }

  seen(model: string): readonly Seen[] {
    return this.#scene(model).upstream.seen;
  }

  /** Requests of the agent's loop, without its side calls for titles and the like. */
  loop(model: string): readonly Seen[] {
    return this.#scene(model).upstream.loop;
  }

  /** Resolves when the vendor of the model has begun to answer its agent. */
  async producing(model: string): Promise<void> {
    await until(
      () => this.loop(model).some(({ turn }) => turn !== undefined),
      `an answer of ${model}`,
    );
  }

  /** The agent's requests, once no answer is in progress. */
  async settled(model: string): Promise<readonly Seen[]> {
    await until(
      () => this.loop(model).every(({ outcome }) => outcome !== "failed"),
      `the end of ${model}`,
    );
    return this.loop(model);
  }

  #scene(model: string): OpenScene {
    const open = this.#scenes.get(model);
    if (open === undefined) throw new Error(`no scene ${model}`);
    return open;
  }

  /** Starts the scene's agent; `stop` interrupts it as Ctrl-C does. */
  async start(
    model: string,
    isResumed = false,
  ): Promise<{ stop(): void; ended: Promise<RanAgent> }> {
    const { scene, folder } = this.#scene(model);
    const { program, args, env } = await scene.agent.prepare({
      address: this.#gateway.address,
      key: this.#key,
      model,
      folder,
      isResumed,
    });
    const child = new Deno.Command(program, {
      args: [...args],
      cwd: `${folder}/work`,
      clearEnv: true,
      env: {
        PATH: `${runtimeFolder}:${Deno.env.get("PATH") ?? ""}`,
        HOME: `${folder}/home`,
        NODE_COMPILE_CACHE: compiledFolder,
        ...env,
      },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const timer = setTimeout(() => child.kill("SIGKILL"), agentTimeoutMs);
    const ended = child.output().then(async ({ code, stdout, stderr }) => {
      clearTimeout(timer);
      const decoder = new TextDecoder();
      return {
        code,
        output: decoder.decode(stdout) + decoder.decode(stderr),
        note: await Deno.readTextFile(`${folder}/work/note.txt`),
      };
    });
    return { stop: () => child.kill("SIGINT"), ended };
  }

  async run(model: string, isResumed = false): Promise<RanAgent> {
    return await (await this.start(model, isResumed)).ended;
  }

  /**
   * Stops the gateway, then checks every invariant of the store, and that the cost of each model's receipts equals what
   * its vendor reported for the answers it completed.
   */
  async checkBooks(): Promise<void> {
    assertEquals(await this.#gateway.end("SIGTERM"), 0);
    const verified = await this.#gateway.admin("verify");
    assertEquals(verified.code, 0, verified.output);
    const exported = await this.#gateway.admin("export");
    const costs = new Map<string, bigint>();
    for (const line of exported.output.split("\n")) {
      if (!line.startsWith("{")) continue;
      const { key, value } = JSON.parse(line);
      if (key[0] !== "receipt") continue;
      costs.set(
        value.model,
        (costs.get(value.model) ?? 0n) + BigInt(value.costMicroVnd),
      );
    }
    for (const [model, { upstream }] of this.#scenes) {
      // Calls that broke or were left have their own tests; the others must be exact.
      if (
        upstream.seen.some(({ outcome, turn }) => outcome !== "completed" && turn !== undefined)
      ) {
        continue;
      }
      const tokens = upstream.seen.reduce(
        (sum, { turn }) =>
          turn === undefined
            ? sum
            : sum + turn.usage.input + turn.usage.cacheRead + turn.usage.output,
        0,
      );
      assertEquals(
        costs.get(model),
        BigInt(tokens) * BigInt(vndPerMtok),
        `cost of ${model}`,
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway[Symbol.asyncDispose]();
    for (const { upstream } of this.#scenes.values()) {
      await upstream[Symbol.asyncDispose]();
    }
    await Deno.remove(this.#folder, { recursive: true });
  }
}

function configuration(scenes: ReadonlyMap<string, OpenScene>) {
  const providers: Record<string, unknown> = {};
  const models = [...scenes.values()].map(({ scene, upstream }) => ({
    id: scene.model,
    kind: "chat",
    family: "agents",
    contextWindow: 200_000,
    maxOutputTokens: 32_000,
    price: { unit: "token", vndPerMtok },
    routes: scene.routes.map(([name, style], priority) => {
      const provider = `${scene.model}-${name}`;
      providers[provider] = {
        kind: "http",
        baseUrl: `${upstream.address}/${name}`,
        apiKeyEnv: ["VENDOR_KEY", "VENDOR_KEY_2"],
      };
      return { provider, model: vendorModel, style, priority };
    }),
  }));
  return { defaultModel: models[0]!.id, providers, models };
}
