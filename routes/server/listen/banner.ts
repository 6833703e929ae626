/** Composes the lines that the start prints. */
import type { Catalog, ModelKind } from "../../../core/catalog/catalog.ts";
import type { Config } from "../../../core/config/config.ts";
import { localAddress } from "../../../core/net/addresses/local_address.ts";
import type { ListeningAddress } from "./listen.ts";

/** Addresses of a gateway. */
export interface Listening {
  readonly address: string;
  /** An address at which programs on this machine reach the gateway. */
  readonly nearby: string;
}

/** Writes the addresses of a listening socket as URLs. */
export function listeningOn(config: Config, { hostname, port }: ListeningAddress): Listening {
  const address = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  return { address, nearby: localAddress(config.host, port) ?? address };
}

/** A first call of each kind of model: the path, and the arguments of curl. */
const firstCalls: Readonly<Record<ModelKind, (model: string) => readonly [string, string]>> = {
  chat: (model) => [
    "chat/completions",
    json({ model, messages: [{ role: "user", content: "Hello!" }], max_tokens: 100 }),
  ],
  image: (model) => ["images/generations", json({ model, prompt: "A red lantern" })],
  speech: (model) => [
    "audio/speech",
    `${json({ model, input: "Hello!", voice: "alloy" })} -o hello.mp3`,
  ],
  // The recording that the line of speech makes.
  transcription: (model) => [
    "audio/transcriptions",
    `-F model=${model} -F file=@hello.mp3`,
  ],
  video: (model) => ["videos", json({ model, prompt: "A lantern in the wind" })],
  embedding: (model) => ["embeddings", json({ model, input: "Hello!" })],
  rerank: (model) => [
    "rerank",
    json({ model, query: "river", documents: ["The Mekong is a river", "Hà Nội is a city"] }),
  ],
  moderation: (model) => ["moderations", json({ model, input: "Hello!" })],
  completion: (model) => ["completions", json({ model, prompt: "Once upon", max_tokens: 100 })],
};

/** Writes a body as arguments of curl; no text here has an apostrophe. */
function json(body: object): string {
  return `-H "content-type: application/json" -d '${JSON.stringify(body)}'`;
}

/** Writes a command for the first model of a kind; `undefined` if there is none. */
function commandOf(
  { models, defaultModel }: Catalog,
  kind: ModelKind,
  { nearby, secret }: { readonly nearby: string; readonly secret: string },
): string | undefined {
  const model = kind === "chat" ? defaultModel : models.find((one) => one.kind === kind);
  if (model === undefined) return undefined;
  const [path, args] = firstCalls[kind](model.id);
  return `  curl ${nearby}/v1/${path} -H "authorization: Bearer ${secret}" ${args}`;
}

/** The kinds beside chat, in the order in which their commands can be run. */
const furtherKinds = [
  "image",
  "speech",
  "transcription",
  "video",
  "embedding",
  "rerank",
  "moderation",
  "completion",
] as const satisfies readonly ModelKind[];

/** Composes the lines that the start prints. `secret` is a key of the demo account. */
export function banner(
  mode: Config["mode"],
  { address, nearby }: Listening,
  catalog: Catalog,
  secret?: string,
): string[] {
  const lines = [`Gateway listening on ${address} (${mode} mode)`];
  if (secret === undefined) return lines;
  const commands = (kinds: readonly ModelKind[]) =>
    kinds.flatMap((kind) => commandOf(catalog, kind, { nearby, secret }) ?? []);
  return [
    ...lines,
    "",
    "No provider is configured: the built-in sandbox answers, and money is play money.",
    `Demo key with 100,000 VND of sandbox money: ${secret}`,
    "",
    "Try it:",
    ...commands(["chat"]),
    "",
    "The other endpoints:",
    ...commands(furtherKinds),
    "",
  ];
}
