/** CSV downloads. Their common form, down to times and amounts, is in docs/accounts.md. */

/** Headers of a CSV file that is saved under `fileName`. */
export function csvDownloadHeaders(fileName: string): Readonly<Record<string, string>> {
  return {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${fileName}"`,
  };
}
