/** Paths with `.` and `..`: a 404 in the style of the path as it was sent, or of its client, and never another path. */
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { unknownPathMessage } from "../../../routes/api/unknown_path.ts";
import { serveGateway } from "../../support/gateways/served_gateway.ts";

const spellings = ["..", ".", "%2e%2e", "%2E.", "..%2f..", "..%5c", "%2e"];

/** Where the segment stands, what the client says of itself, and the member that only that style's errors have. */
const places: readonly (readonly [
  style: "messages" | "chat" | "gemini",
  path: (dots: string) => string,
  headers?: Readonly<Record<string, string>>,
])[] = [
  ["messages", (dots) => `/v1/messages/${dots}/x`],
  ["messages", (dots) => `/v1/x/${dots}/y`, { "anthropic-version": "2023-06-01" }],
  ["chat", (dots) => `/v1/chat/completions/${dots}/${dots}/x`],
  ["chat", (dots) => `/${dots}/v1/models`],
  ["chat", (dots) => `/metrics/${dots}`],
  ["gemini", (dots) => `/v1beta/x/${dots}/${dots}/y`],
  ["gemini", (dots) => `/v1beta/${dots}/v1/models`],
  ["gemini", (dots) => `/x/${dots}`, { "x-goog-api-key": "sk-none" }],
];

function styleOf(body: unknown, requestId: string): string {
  const text = JSON.stringify(body);
  if (text.includes('"status":"NOT_FOUND"')) return "gemini";
  return text.includes(`"request_id":"${requestId}"`) ? "messages" : "chat";
}

/** Sends a head as it is: clients of the platform resolve such segments before they send. */
async function ask(port: number, path: string, headers: Readonly<Record<string, string>>) {
  using connection = await Deno.connect({ port });
  const lines = Object.entries({ host: "gateway.example", connection: "close", ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  await connection.write(
    new TextEncoder().encode(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`),
  );
  const [head = "", body = ""] = (await new Response(connection.readable).text()).split("\r\n\r\n");
  return { head, body };
}

Deno.test("a path with dot segments is a 404 in the caller's style, which says why", async (t) => {
  await using gateway = await serveGateway();
  const port = Number(new URL(gateway.address).port);
  for (const [style, pathWith, headers = {}] of places) {
    for (const path of spellings.map(pathWith)) {
      await t.step(`${style}: ${path}`, async () => {
        const { head, body } = await ask(port, path, headers);
        assertStringIncludes(head, "HTTP/1.1 404 ");
        assertStringIncludes(head, "content-type: application/json");
        assertStringIncludes(head, "x-content-type-options: nosniff");
        const requestId = /^x-request-id: (\S+)/m.exec(head)?.[1] ?? "";
        assertEquals(styleOf(JSON.parse(body), requestId), style);
        assertStringIncludes(body, "the segments . and .. are not resolved here");
      });
    }
  }
  await t.step("a browser gets a page", async () => {
    const { head, body } = await ask(port, "/docs/../wallet", { accept: "text/html" });
    assertStringIncludes(head, "HTTP/1.1 404 ");
    assertStringIncludes(body, "There is no such page");
  });
});

Deno.test("what only vendors offer is a 404 that says why", () => {
  const reasons: readonly (readonly [string, readonly string[]])[] = [
    ["send the contents with the call", [
      ...["files", "files/file_1", "uploads", "containers", "vector_stores", "skills"],
    ]],
    ["send the calls one by one", ["batches", "messages/batches", "batches/b_1/cancel"]],
    ["send the whole conversation", [
      ...["conversations", "threads", "assistants", "responses/resp_1", "chat/completions/c_1"],
    ]],
    ["run the loop of the agent yourself", [
      ...["agents", "sessions", "sessions/s_1/events", "environments", "interactions"],
    ]],
    ["which all customers share", ["evals", "fine_tuning/jobs", "graders/run"]],
    ["needs a WebSocket", ["realtime", "realtime/sessions"]],
  ];
  for (const [reason, paths] of reasons) {
    for (const path of paths.flatMap((one) => [`/v1/${one}`, `/v1/v1/${one}`])) {
      assertStringIncludes(unknownPathMessage(path, ["/v1/messages"]), reason, path);
    }
  }
  for (const path of ["interactions", "agents/a_1", "batches"]) {
    assertStringIncludes(unknownPathMessage(`/v1beta/${path}`, []), "call", path);
  }
});
