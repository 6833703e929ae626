/** Formats of pictures and documents, and names of documents, as Converse takes them. */

/** Formats of documents by media type. */
export const documentFormats: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
]);

/** Formats of pictures by media type. */
export const imageFormats: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpeg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);

/** Most characters of a document's name. */
const nameChars = 200;

/** Gives each document of a request a name that the vendor takes, and that no other document has. */
export class DocumentNames {
  readonly #used = new Set<string>();

  /**
   * Returns a name near a title: letters without their marks, digits, single spaces, hyphens, parentheses and square
   * brackets.
   *
   * @example
   * ```ts
   * import { DocumentNames } from "./documents.ts";
   * const names = new DocumentNames();
   * const made = ["Báo cáo_2026.pdf", "Báo cáo 2026", undefined].map((title) => names.nameFor(title));
   * if (made.join() !== "Bao cao-2026-pdf,Bao cao 2026,document") throw new Error(made.join());
   * if (names.nameFor(undefined) !== "document (2)") throw new Error("two documents of one name");
   * ```
   */
  nameFor(title: string | undefined): string {
    const base = (title ?? "").slice(0, nameChars).normalize("NFD").replace(/\p{M}/gu, "")
      .replaceAll("đ", "d").replaceAll("Đ", "D")
      .replace(/[^A-Za-z0-9\s()[\]-]+/g, "-").replace(/\s+/g, " ").trim()
      .slice(0, nameChars - longestSuffix) || "document";
    let name = base;
    for (let count = 2; this.#used.has(name); count++) name = `${base} (${count})`;
    this.#used.add(name);
    return name;
  }
}

/** Characters of ` (n)` with as many digits as a count of documents can have. */
const longestSuffix = 10;
