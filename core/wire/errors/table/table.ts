/** All rows, found by code and by the beginning of the text. */
import { bedrock } from "./amazon.ts";
import { anthropic } from "./anthropic.ts";
import * as china from "./china.ts";
import * as chineseClouds from "./chinese_clouds.ts";
import { families } from "./families.ts";
import * as google from "./google.ts";
import * as hosts from "./hosts.ts";
import * as labs from "./labs.ts";
import * as media from "./media.ts";
import { azure, openai } from "./openai.ts";
import * as platforms from "./platforms.ts";
import * as servers from "./servers.ts";
import type { ErrorRow, VendorErrors } from "./row.ts";

/** The table. Where two rows fit, that of the earlier vendor decides, and a row with a code and a text comes first. */
export const vendors: readonly VendorErrors[] = [
  openai,
  azure,
  anthropic,
  bedrock,
  ...Object.values(google),
  ...Object.values(labs),
  ...Object.values(hosts),
  ...Object.values(platforms),
  ...Object.values(china),
  ...Object.values(chineseClouds),
  ...Object.values(servers),
  ...Object.values(media),
  families,
];

const rows = vendors.flatMap((vendor) => vendor.rows);

const byCode = new Map<string, ErrorRow[]>();
for (const row of [...rows.filter(({ form }) => form), ...rows.filter(({ form }) => !form)]) {
  if (row.code === undefined) continue;
  const known = byCode.get(row.code);
  if (known === undefined) byCode.set(row.code, [row]);
  else known.push(row);
}

const byCodes = rows.filter(({ codes }) => codes !== undefined);

/** The rows of a code, those with a text first; of a code that no vendor's rows have, those of its family. */
export function rowsOfCode(code: string): readonly ErrorRow[] {
  return byCode.get(code) ?? byCodes.filter(({ codes }) => codes?.test(code));
}

/** The rows that a text alone decides. */
export const formRows: readonly ErrorRow[] = rows.filter((row) =>
  row.form !== undefined && row.code === undefined
);
