/**
 * The list of guides, in the order in which the documentation shows them.
 *
 * - Folder `routes/dashboard/public/docs/guides/`: the texts of the guides, a file for each, in both languages.
 * - In: the address of the service and its default model.
 * - Out: texts, tables and snippets as data.
 * - Never: contains markup.
 */
import type { Guide } from "./guide.ts";
import { billing, quickstart } from "./quickstart.ts";
import { errors } from "./errors.ts";
import { modelsAndStyles, streaming } from "./models_and_styles.ts";

export const guides: readonly Guide[] = [quickstart, modelsAndStyles, streaming, errors, billing];
