/** The part of pdfkit that statements use; the package has no types of its own. */
interface TextOptions {
  readonly width?: number;
  readonly align?: "left" | "right";
  readonly lineBreak?: boolean;
}

export default class PDFDocument {
  constructor(options: {
    readonly size: "A4";
    readonly margin: number;
    readonly bufferPages: boolean;
    readonly font: Uint8Array;
    readonly lang: string;
    readonly info: {
      readonly Title: string;
      readonly Author: string;
      readonly CreationDate: Date;
    };
  });
  readonly page: {
    readonly width: number;
    readonly height: number;
    readonly margins: { bottom: number };
  };
  on(event: "data", listener: (part: Uint8Array) => void): this;
  on(event: "end", listener: () => void): this;
  on(event: "error", listener: (error: Error) => void): this;
  registerFont(name: string, bytes: Uint8Array): this;
  font(name: string): this;
  fontSize(points: number): this;
  fillColor(color: string): this;
  strokeColor(color: string): this;
  lineWidth(points: number): this;
  moveTo(x: number, y: number): this;
  lineTo(x: number, y: number): this;
  stroke(): this;
  text(text: string, x: number, y: number, options?: TextOptions): this;
  heightOfString(text: string, options?: TextOptions): number;
  addPage(): this;
  bufferedPageRange(): { readonly start: number; readonly count: number };
  switchToPage(page: number): void;
  end(): void;
}
