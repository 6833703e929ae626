/** `deno task report:matrix` writes `docs/conversion-matrix.md`. */
import { matrixPage } from "./page.ts";

const page = new URL("../../../docs/conversion-matrix.md", import.meta.url);
await Deno.writeTextFile(page, matrixPage());
await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", page.pathname] }).output();
