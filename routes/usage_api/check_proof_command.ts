/**
 * `deno task check-proof PROOF KEYS`: checks a proof that was downloaded, with the keys that were published, and needs
 * neither the service nor the network. Exits with 1 if the proof is not right.
 */
import { checkDocument, factLine } from "../../core/trade/proofs/check_document.js";

/** Reads a JSON document; `undefined` if it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Checks the files; returns the lines to print, and whether all is right. */
export async function checkProofFiles(
  proofText: string,
  keysText: string,
): Promise<{ readonly ok: boolean; readonly lines: readonly string[] }> {
  const [proof, keys] = [parsed(proofText), parsed(keysText)];
  if (proof === undefined) return { ok: false, lines: ["the first file is no proof"] };
  const isKeySet = typeof keys === "object" && keys !== null && "keys" in keys;
  if (!isKeySet) return { ok: false, lines: ["the second file has no keys"] };
  const check = await checkDocument(proof, keys);
  if (check.ok) return { ok: true, lines: check.facts.map((fact) => `right: ${factLine(fact)}`) };
  const { why, place } = check;
  return { ok: false, lines: [`wrong: ${why}${place === undefined ? "" : ` of the ${place}`}`] };
}

if (import.meta.main) {
  const [proof, keys] = Deno.args;
  if (proof === undefined || keys === undefined) {
    await Deno.stderr.write(new TextEncoder().encode("usage: deno task check-proof PROOF KEYS\n"));
    Deno.exit(2);
  }
  const checked = await checkProofFiles(
    await Deno.readTextFile(proof),
    await Deno.readTextFile(keys),
  );
  await Deno.stdout.write(
    new TextEncoder().encode(checked.lines.map((line) => `${line}\n`).join("")),
  );
  Deno.exit(checked.ok ? 0 : 1);
}
