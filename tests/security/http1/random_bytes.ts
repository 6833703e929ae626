/** Random connections of a client, most of them nearly right: whole requests with a few things wrong. */

/** A generator of random numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const methods = [
  "GET",
  "POST",
  "POST",
  "PUT",
  "HEAD",
  "DELETE",
  "OPTIONS",
  "get",
  "PRI",
  "CONNECT",
];
const targets = [
  "/",
  "/v1/messages",
  "/a?b=c",
  "//a",
  "/a/../b",
  "/%00",
  "*",
  "http://h/a",
  "http://h",
  "HTTP://h?a",
  "/a#b",
  "/\xe9",
  "/a\tb",
  "a",
  "/[x]|{y}^",
];
const versions = [
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.0",
  "HTTP/1.2",
  "http/1.1",
  "HTTP/2.0",
];
const lines = [
  "x: y",
  "x:",
  "x: a\xe9b",
  "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "x : y",
  " x: y",
  "\tfolded",
  "x",
  ": y",
  "x: a\x01b",
  "x: a\rb",
  "x\xe9: y",
  "connection: close",
  "connection: keep-alive",
  "Connection: x, Close",
  "expect: 100-continue",
  "host: other",
  "content-length: 3",
  "content-length: 5",
  "Content-Length: 3",
  "content-length: 3, 3",
  "content-length: +3",
  "content-length: 0x3",
  "content-length:",
  "content-length : 3",
  "content-length: 3 ",
  "content_length: 3",
  "transfer-encoding: chunked",
  "Transfer-Encoding: Chunked",
  "transfer-encoding:\tchunked\t",
  "transfer-encoding: chunked, chunked",
  "transfer-encoding: identity",
  "transfer-encoding: gzip, chunked",
  "transfer-encoding: chunkedx",
  "transfer-encoding: \x0bchunked",
  "transfer-encoding : chunked",
  "transfer-encoding:",
  "transfer-encoding: 'chunked'",
  "te: trailers",
  "trailer: x",
  "upgrade: h2c",
];
const lineEnds = [
  "\r\n",
  "\r\n",
  "\r\n",
  "\r\n",
  "\r\n",
  "\r\n",
  "\r\n",
  "\r\n",
  "\n",
  "\r",
  "\r\r\n",
];
const sizes = [
  "3",
  "03",
  "3;a",
  "3;a=b",
  '3;a="b"',
  "3;",
  "3 ",
  "3 ;a",
  " 3",
  "0x3",
  "+3",
  "3\t",
  "4",
  "2",
  "-3",
  "g",
  "",
  "3;a\x01",
];
const trailers = [
  "",
  "",
  "t: v\r\n",
  "t\r\n",
  "t : v\r\n",
  " v\r\n",
  "content-length: 5\r\n",
  "t: v\n",
];
const noise = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  " ",
  "\t",
  ":",
  ";",
  "0",
  "3",
  "\xff",
  "\x7f",
  "GET / HTTP/1.1\r\nhost: s\r\n\r\n",
];

/** Makes the bytes of one connection, one character each. */
export function randomConnection(random: () => number): string {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const often = <Item>(usual: Item, items: readonly Item[]) =>
    random() < 0.88 ? usual : pick(items);
  const eol = () => random() < 0.98 ? "\r\n" : pick(lineEnds);

  const chunkedBody = () => {
    let body = "";
    for (let chunks = Math.floor(random() * 3); chunks > 0; chunks--) {
      body += `${often("3", sizes)}${eol()}abc${eol()}`;
    }
    return `${body}${often("0", ["00", "0;a", "0 ", "000000000000000000"])}${eol()}${
      often("", trailers)
    }${eol()}`;
  };

  const request = () => {
    const framing = pick(["none", "length", "chunked"] as const);
    const head = [
      `${often(framing === "none" ? "GET" : "POST", methods)} ${often("/a", targets)} ${
        often("HTTP/1.1", versions)
      }`,
    ];
    if (random() < 0.97) head.push("host: h");
    for (let extra = Math.floor(random() * 3); extra > 0; extra--) {
      if (random() < 0.4) head.push(pick(lines));
    }
    if (framing === "length") head.push(often("content-length: 3", lines));
    if (framing === "chunked") head.push(often("transfer-encoding: chunked", lines));
    const order = random() < 0.3 ? [head[0]!, ...head.slice(1).reverse()] : head;
    const body = framing === "none" ? "" : framing === "length" ? "abc" : chunkedBody();
    return `${order.map((line) => line + eol()).join("")}${eol()}${body}`;
  };

  let text = random() < 0.05 ? "\r\n" : "";
  for (let requests = 1 + Math.floor(random() * 3); requests > 0; requests--) text += request();
  for (let changes = random() < 0.6 ? 0 : 1 + Math.floor(random() * 3); changes > 0; changes--) {
    const at = Math.floor(random() * text.length);
    const removed = random() < 0.5 ? Math.floor(random() * 3) : 0;
    text = text.slice(0, at) + (random() < 0.7 ? pick(noise) : "") + text.slice(at + removed);
  }
  return text;
}
