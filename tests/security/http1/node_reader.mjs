// How Node reads the bytes of one connection: for each line of its input (base64), a line of JSON with the requests
// that it read, up to the first one that it refuses.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Duplex } from "node:stream";

function readAll(bytes) {
  return new Promise((resolve) => {
    const requests = [];
    const server = createServer((request, response) => {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("error", () => {});
      request.on("end", () => {
        const { method, url, rawHeaders } = request;
        const headers = [];
        for (let at = 0; at < rawHeaders.length; at += 2) {
          headers.push([rawHeaders[at], rawHeaders[at + 1]]);
        }
        requests.push({ method, url, headers, body: Buffer.concat(parts).toString("base64") });
        response.end();
      });
    });
    // What came before it is still being delivered.
    server.on("clientError", () => {});
    const socket = new Duplex({
      read() {},
      write(_chunk, _encoding, callback) {
        callback();
      },
    });
    socket.setTimeout = () => socket;
    socket.setNoDelay = () => socket;
    socket.setKeepAlive = () => socket;
    socket.on("error", () => {});
    socket.on("close", () => resolve(requests));
    server.emit("connection", socket);
    socket.push(bytes);
    // The end of the connection comes when everything was parsed and answered.
    setImmediate(() => setImmediate(() => setImmediate(() => socket.destroy())));
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const requests = await readAll(Buffer.from(line, "base64"));
  process.stdout.write(`${JSON.stringify(requests)}\n`);
}
