/** Compiles the scanner of JSON: `deno task wasm`. */
import initialize from "wabt";

const source = new URL("../../core/lib/json/scan/scan.wat", import.meta.url);
/** The file that holds the compiled module. */
export const modulePath = new URL("../../core/lib/json/scan/module.ts", import.meta.url);
/** Characters of a line of base64. */
const lineChars = 90;

/** The compiled module as source text, as it stands in the repository. */
export async function moduleText(): Promise<string> {
  const wabt = await initialize();
  const features = { simd: true, bulk_memory: true };
  const module = wabt.parseWat("scan.wat", await Deno.readTextFile(source), features);
  try {
    module.validate();
    const base64 = module.toBinary({}).buffer.toBase64();
    const lines = base64.match(new RegExp(`.{1,${lineChars}}`, "g")) ?? [];
    const literals = lines.map((line) => `  "${line}"`).join(" +\n");
    return `/** \`scan.wat\`, compiled by \`deno task wasm\`. */\nexport const moduleBase64 =\n${literals};\n`;
  } finally {
    module.destroy();
  }
}

if (import.meta.main) await Deno.writeTextFile(modulePath, await moduleText());
