/** Models of every kind at the sandbox, so that each operation of the document has one that answers. */
const kinds = [
  ["embedding", { unit: "token", vndPerMtok: 1_000 }],
  ["transcription", { unit: "second", vndPerMinute: 60 }],
  ["rerank", { unit: "search", vnd: 1 }],
  ["moderation", { unit: "request", vnd: 0 }],
  ["completion", { unit: "token", vndPerMtok: 1_000 }],
] as const;

/** The default file with a model of each kind that it lacks, as text. */
export async function gatewayFileOfAllKinds(): Promise<string> {
  const file = JSON.parse(await Deno.readTextFile(new URL("../../gateway.json", import.meta.url)));
  const more = kinds.map(([kind, price]) => ({
    id: `${kind}-1`,
    kind,
    family: "test",
    price,
    routes: [{ provider: "sandbox" }],
  }));
  return JSON.stringify({ ...file, $schema: undefined, models: [...file.models, ...more] });
}
