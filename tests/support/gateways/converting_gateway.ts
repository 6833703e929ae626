/** A started gateway whose models each have one style only, on a sandbox as strict as the vendors. */
import { type StartedGateway, startGateway } from "./started_gateway.ts";

const styles = ["messages", "chat", "responses", "gemini", "converse"] as const;

function model(id: string, style: string) {
  return {
    id,
    kind: "chat",
    family: "test",
    contextWindow: 200_000,
    maxOutputTokens: 8_000,
    vision: true,
    price: { unit: "token", vndPerMtok: 1_000 },
    routes: [{
      provider: "strict",
      style,
      ...(style === "converse" ? { facts: { reasoning_field: "thinking" } } : {}),
    }],
  };
}

/** Models `only-messages`, `only-chat`, `only-responses`, `only-gemini` and `only-converse`. */
export async function startConvertingGateway(): Promise<StartedGateway> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-test-" });
  const path = `${folder}/gateway.json`;
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      defaultModel: "only-chat",
      providers: { strict: { kind: "sandbox", strict: true } },
      models: styles.map((style) => model(`only-${style}`, style)),
    }),
  );
  const gateway = await startGateway({ folder, env: { GATEWAY_CONFIG: path } });
  return {
    ...gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
