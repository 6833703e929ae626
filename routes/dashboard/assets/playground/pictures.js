/* Pictures of a message: chosen, pasted or dropped, made small enough to be sent with every turn, and shown. */
import { actionButton, element, filled } from "./dom.js";

/* Pictures of a message; the whole conversation is sent with each turn. */
const mostPictures = 4;
/* Pixels of the longer side: vision models scale larger ones down themselves. */
const longestSide = 1_536;
const quality = 0.85;
/* Bytes of a file that is read at all: photographs have less. */
const largestFile = 30 * 1024 * 1024;
const types = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/* A picture as a data URL, not larger than the longest side. */
async function readPicture(file) {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height));
  const canvas = element("canvas", {
    width: Math.max(1, Math.round(bitmap.width * scale)),
    height: Math.max(1, Math.round(bitmap.height * scale)),
  });
  const pen = canvas.getContext("2d");
  // JPEG has no transparency: what shines through is white, as on most pages.
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL("image/jpeg", quality);
}

/** The pictures of the message that is being written. */
export class Pictures {
  #page;
  #shelf;
  #changed;
  #urls = [];

  constructor(page, shelf, changed) {
    this.#page = page;
    this.#shelf = shelf;
    this.#changed = changed;
  }

  get urls() {
    return this.#urls;
  }

  set urls(urls) {
    this.#urls = [...urls];
    this.#show();
  }

  /** Adds files; returns what is wrong with them, if something is. */
  async add(files) {
    const { texts } = this.#page;
    let problem;
    for (const file of files) {
      if (this.#urls.length >= mostPictures) {
        problem = filled(texts.tooManyImages, { n: mostPictures });
        break;
      }
      if (!types.includes(file.type) || file.size > largestFile) problem = texts.notAnImage;
      else {
        try {
          this.#urls.push(await readPicture(file));
        } catch {
          problem = texts.notAnImage;
        }
      }
    }
    this.#show();
    return problem;
  }

  #show() {
    this.#shelf.hidden = this.#urls.length === 0;
    this.#shelf.replaceChildren(...this.#urls.map((src, at) => {
      const drop = actionButton(this.#page.texts.remove, () => {
        this.#urls.splice(at, 1);
        this.#show();
      });
      return element("figure", { className: "thumb" }, thumbnail(this.#page, src, at), drop);
    }));
    this.#changed();
  }
}

/** A picture of a message, small. */
export function thumbnail({ texts }, src, at) {
  return element("img", { src, alt: filled(texts.attachedAlt, { n: at + 1 }) });
}
