/**
 * `deno task check-proof PROOF KEYS`: checks a proof that was downloaded, with the keys that were published, and needs
 * neither the service nor the network. Exits with 1 if the proof is not right.
 */
import { z } from "zod";
import {
  checkInclusion,
  type Inclusion,
  inclusionSchema,
  keySetSchema,
} from "../../core/trade/proofs/check_proof.ts";

const monthSchema = z.object({
  object: z.literal("statement.proof"),
  opening: inclusionSchema.nullable(),
  closing: inclusionSchema.nullable(),
});

/** The inclusions of a document: one, or those of a month. */
function inclusionsOf(document: unknown): readonly Inclusion[] {
  const month = monthSchema.safeParse(document);
  if (!month.success) return [inclusionSchema.parse(document)];
  return [month.data.opening, month.data.closing].filter((one) => one !== null);
}

/** Reads a JSON document; `undefined` if it is none of that form. */
function readAs<Read>(text: string, read: (document: unknown) => Read): Read | undefined {
  try {
    return read(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Checks the files; returns the lines to print, and whether all is right. */
export async function checkProofFiles(
  proofText: string,
  keysText: string,
): Promise<{ readonly ok: boolean; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  let ok = true;
  const inclusions = readAs(proofText, inclusionsOf);
  if (inclusions === undefined) return { ok: false, lines: ["the first file is no proof"] };
  const keys = readAs(keysText, (document) => keySetSchema.parse(document));
  if (keys === undefined) return { ok: false, lines: ["the second file has no keys"] };
  for (const inclusion of inclusions) {
    const check = await checkInclusion(inclusion, keys);
    ok &&= check.ok;
    lines.push(
      check.ok
        ? `right: signed by ${check.statement.origin} for ${check.statement.day}: ${inclusion.leaf}`
        : `wrong: ${check.why}: ${inclusion.leaf}`,
    );
  }
  return { ok: ok && inclusions.length > 0, lines };
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
