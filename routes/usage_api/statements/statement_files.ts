/** The kinds of files of a monthly statement. What writes PDF and XLSX is loaded with the first such file. */
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import type { StatementDocument } from "./statement_document.ts";
import { statementCsv } from "./statement_csv.ts";

interface FileKind {
  readonly type: string;
  /** Writes the file. What takes long does so in slices, since calls are served beside it. */
  write(
    document: StatementDocument,
    lastDay: string,
    slices: TimeSlices,
  ): Promise<Uint8Array<ArrayBuffer>>;
}

/** The kinds, by the end of their names. */
export const statementFileKinds = {
  pdf: {
    type: "application/pdf",
    async write(document, lastDay, slices) {
      const { statementPdf } = await import("./statement_pdf.ts");
      return await statementPdf(document, lastDay, slices);
    },
  },
  xlsx: {
    type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    async write(document) {
      const { statementXlsx } = await import("./statement_xlsx.ts");
      return await statementXlsx(document);
    },
  },
  csv: {
    type: "text/csv; charset=utf-8",
    write: (document) => Promise.resolve(new TextEncoder().encode(statementCsv(document))),
  },
} as const satisfies Readonly<Record<string, FileKind>>;

/** The name of a kind. */
export type StatementFileKind = keyof typeof statementFileKinds;

function isKind(name: string): name is StatementFileKind {
  return Object.hasOwn(statementFileKinds, name);
}

/** The names of all kinds. */
export const statementFileKindNames = Object.keys(statementFileKinds).filter(isKind);
