/** URLs that a provider may fetch: every spelling in every place of every style, in outline and parsed. */
import { assertEquals } from "../../../support/assert.ts";
import { fetchedUrls } from "../../../../core/net/remote/fetched_urls.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { isPdfUrl } from "../../../../core/wire/fields/content_parts.ts";

/** Spellings that lead inside by the URL standard or by a scheme. */
const inside = [
  "http://169.254.169.254/latest",
  "HTTP://169.254.169.254/latest",
  " \n http://169.254.169.254/",
  "ht\ttp://169.254.169.254/",
  "h\r\nttp\n://169.254.169.254/",
  "\u0001http://10.0.0.1/",
  "\u0000\u001f http://10.0.0.1/",
  "\u00a0http://10.0.0.1/",
  "http:169.254.169.254",
  "http:\\\\169.254.169.254\\a",
  "http:/\\127.0.0.1",
  "http:\t//127.0.0.1",
  "http://a.example\\@10.0.0.1/",
  "//169.254.169.254/latest",
  "\\\\169.254.169.254\\a",
  "/\t/localhost/",
  "//2852039166/a",
  "//[::1]/a",
  "file:///etc/passwd",
  "fi\tle:///etc/passwd",
  "FILE:/etc/passwd",
  "gopher://a.example/",
  "gopher:a",
  "dict://a.example:11211/",
  "ftp://a.example/",
  "wss://a.example/",
  "unheard-of://a.example/",
  "jar:http://10.0.0.1/",
  "url:http://10.0.0.1/",
  "http://0x7f000001/",
  "http://１２７.0.0.1/",
  "http://user:pass@a.example/",
  "http://a.example:6379/",
  "http://a b/",
];

const image = (url: string) => ({ type: "image", source: { type: "url", url } });
const asked = (content: unknown) => ({ messages: [{ role: "user", content }] });
const item = (input: object) => ({ input: [input] });
const gemini = (part: object) => ({ contents: [{ role: "user", parts: [part] }] });

const places: Readonly<Record<string, (url: string) => object>> = {
  "messages image": (url) => asked([image(url)]),
  "messages document": (url) => asked([{ type: "document", source: { type: "url", url } }]),
  "messages other case": (url) => asked([{ type: "Image", Source: { Url: url } }]),
  "messages tool result": (url) => asked([{ type: "tool_result", content: [image(url)] }]),
  "messages document content": (url) =>
    asked([{ type: "document", source: { type: "content", content: [image(url)] } }]),
  "messages system": (url) => ({ system: [image(url)] }),
  "messages MCP server": (url) => ({ mcp_servers: [{ type: "url", url }] }),
  "messages member": (url) => ({ documents: [url], images: { a: [{ b: url }] } }),
  "chat image": (url) => asked([{ type: "image_url", image_url: { url } }]),
  "chat plain image": (url) => asked([{ type: "image_url", image_url: url }]),
  "chat list of images": (url) => asked([{ type: "image_url", image_url: [url] }]),
  "chat list of objects": (url) => asked([{ type: "image_url", image_url: [{ url }] }]),
  "chat other case": (url) => asked([{ type: "IMAGE_URL", image_url: { url } }]),
  "chat without a type": (url) => asked([{ image_url: { url } }]),
  "chat single part": (url) => asked({ type: "image_url", image_url: { url } }),
  "chat file": (url) => asked([{ type: "file", file: { file_data: url } }]),
  "chat audio": (url) => asked([{ type: "input_audio", input_audio: { data: url } }]),
  "chat video": (url) => asked([{ type: "video_url", video_url: { url } }]),
  "chat frames": (url) => asked([{ type: "video", video: [url] }]),
  "chat prediction": (url) => ({
    prediction: { type: "content", content: [{ type: "image_url", image_url: { url } }] },
  }),
  "chat message member": (url) => ({ messages: [{ role: "user", content: "Hi", images: [url] }] }),
  "chat unknown part": (url) => asked([{ type: "unheard_of", thing: { deep: [[url]] } }]),
  "responses image": (url) => item({ content: [{ type: "input_image", image_url: url }] }),
  "responses file": (url) => item({ content: [{ type: "input_file", file_url: url }] }),
  "responses computer": (url) =>
    item({
      type: "computer_call_output",
      output: { type: "computer_screenshot", image_url: url },
    }),
  "responses output": (url) =>
    item({ type: "function_call_output", output: [{ type: "input_image", image_url: url }] }),
  "responses output object": (url) =>
    item({ type: "function_call_output", output: { type: "input_image", image_url: url } }),
  "responses tool server": (url) => ({ tools: [{ type: "mcp", server_url: url }] }),
  "responses single item": (url) => ({ input: { type: "input_image", image_url: url } }),
  "gemini file": (url) => gemini({ fileData: { fileUri: url } }),
  "gemini snake case": (url) => gemini({ file_data: { file_uri: url } }),
  "gemini function": (url) =>
    gemini({ functionResponse: { parts: [{ fileData: { fileUri: url } }] } }),
  "gemini instruction": (url) => ({
    systemInstruction: { parts: [{ fileData: { fileUri: url } }] },
  }),
  "azure data source": (url) => ({
    data_sources: [{ type: "azure_search", parameters: { endpoint: url } }],
  }),
  "azure data source, deeper": (url) => ({
    data_sources: [{ parameters: { response: { schema: { args: [{ query: url }] } } } }],
  }),
  "search with parameters": (url) => ({
    tools: [{ type: "openrouter:web_search", parameters: { engine: url } }],
  }),
  "chat part with parameters": (url) => asked([{ type: "unheard_of", parameters: { page: url } }]),
  "merged body": (url) => ({ extra_body: { input: [url], title: { name: url } } }),
  "gemini tool": (url) => ({ tools: [{ retrieval: { externalApi: { endpoint: url } } }] }),
};

/** Long enough for an outline. */
const padding = "p".repeat(9_000);
const read = (body: object) =>
  fetchedUrls(
    parseJsonBody(new TextEncoder().encode(
      JSON.stringify(body),
    )).outline,
  );

function codeOf(body: object): string {
  try {
    return read(body).length === 0 ? "nothing found" : "found";
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

Deno.test("each spelling of an internal URL is refused in each place, in outline and parsed", () => {
  const passed: string[] = [];
  for (const [place, at] of Object.entries(places)) {
    for (const url of inside) {
      const long = `${url}?${"q".repeat(800)}`;
      const bodies = [at(url), { ...at(url), user: padding }, { ...at(long), user: padding }];
      for (const [i, body] of bodies.entries()) {
        if (codeOf(body) !== "invalid_request") passed.push(`${place} ${JSON.stringify(url)} ${i}`);
      }
    }
  }
  assertEquals(passed, []);
});

/** Texts without a scheme: each server makes something else of them. */
const schemeless = [
  "/etc/passwd",
  "../../etc/passwd",
  "169.254.169.254/latest",
  "10.0.0.1:8080",
  "localhost/a",
  "[::1]/a",
  "<http://169.254.169.254/>",
  '"http://10.0.0.1/"',
  "\u200bhttp://10.0.0.1/",
  "\u2060http://10.0.0.1/",
  "iVBORw0KGgo=",
];

Deno.test("a member that holds a URL holds no text without a scheme, however long", () => {
  const urlPlaces = ["chat image", "chat plain image", "responses file", "gemini file"];
  for (const place of [...urlPlaces, "responses tool server", "messages MCP server"]) {
    for (const text of schemeless) {
      for (const one of [text, text + "a".repeat(5_000)]) {
        for (const body of [places[place]!(one), { ...places[place]!(one), user: padding }]) {
          assertEquals(codeOf(body), "invalid_request", `${place} ${text}`);
        }
      }
    }
  }
});

Deno.test("white space without end before an internal URL, or within its scheme, hides nothing", () => {
  const at = places["chat image"]!;
  for (
    const url of [" ".repeat(3_000) + "http://10.0.0.1/", `ht${"\t".repeat(3_000)}tp://10.0.0.1/`]
  ) {
    assertEquals(codeOf({ ...at(url), user: padding }), "invalid_request");
  }
});

Deno.test("a public URL is found in each place, and its path names the part or the member", () => {
  for (const [place, at] of Object.entries(places)) {
    for (
      const body of [at("https://a.example/b"), { ...at("https://a.example/b"), user: padding }]
    ) {
      assertEquals(
        [...new Set(read(body).map(({ url }) => url.href))],
        ["https://a.example/b"],
        place,
      );
    }
  }
  const pathIn = (place: string) => read(places[place]!("//a.example/b"))[0]?.path;
  assertEquals(pathIn("chat image"), "messages.0.content.0");
  assertEquals(pathIn("messages tool result"), "messages.0.content.0.content.0");
  assertEquals(pathIn("responses computer"), "input.0");
  assertEquals(pathIn("gemini file"), "contents.0.parts.0.fileData.fileUri");
  assertEquals(pathIn("responses tool server"), "tools.0.server_url");
});

Deno.test("text, arguments, schemas, labels, sources and data are not fetched", () => {
  const url = "http://localhost:3000/";
  const mp3 = "//uQxAAAAAAAAAAAAAAAAAAAAAAA";
  const bodies: readonly object[] = [
    asked(url),
    asked([url]),
    asked([{ type: "text", text: url }]),
    asked([{ type: "tool_use", id: "t", name: "open", input: { url } }]),
    asked([{ type: "tool_result", tool_use_id: "t", content: url }]),
    asked([{ type: "document", source: { type: "text", media_type: "text/plain", data: url } }]),
    asked([{ type: "search_result", source: url, title: url, content: [] }]),
    asked([{ type: "web_search_tool_result", content: [{ type: "web_search_result", url }] }]),
    asked([{ type: "text", text: "a", citations: [{ type: "web_search_result_location", url }] }]),
    { messages: [{ role: "assistant", tool_calls: [{ function: { arguments: url } }] }] },
    { messages: [{ role: "tool", tool_call_id: "t", content: url }] },
    { messages: [{ role: "assistant", content: "a", reasoning_content: url }] },
    { prediction: { type: "content", content: url } },
    { tools: [{ type: "function", function: { description: url, parameters: { $id: url } } }] },
    { tools: [{ name: "open", description: url, input_schema: { $schema: url, default: url } }] },
    { response_format: { type: "json_schema", json_schema: { schema: { $id: url } } } },
    { metadata: { page: url }, user: url, stop: [url], instructions: url, system: url },
    { input: url },
    item({ type: "function_call_output", call_id: "c", output: url }),
    item({ type: "web_search_call", action: { type: "open_page", url } }),
    item({ type: "local_shell_call", action: { type: "exec", command: ["curl", url] } }),
    gemini({ text: url }),
    gemini({ functionCall: { name: "open", args: { url } } }),
    gemini({ functionResponse: { name: "open", response: { url } } }),
    asked([{ type: "input_audio", input_audio: { data: mp3, format: "mp3" } }]),
    gemini({ inlineData: { mimeType: "audio/mpeg", data: mp3.repeat(40) } }),
    asked([{ type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } }]),
    gemini({ fileData: { fileUri: "gs://bucket/a.pdf" } }),
    { note: "a: b", path: "/etc/hosts", comment: "// a comment" },
  ];
  for (const body of bodies) {
    for (const one of [body, { ...body, safety_identifier: padding }]) {
      assertEquals(read(one), [], JSON.stringify(body));
    }
  }
});

Deno.test("a PDF among pictures is known by the path of its URL, however it is written", () => {
  for (
    const url of [
      "https://a.example/b.pdf",
      " https://a.example/b.PDF?c#d",
      "ht\ttps://a.example/b.pdf",
    ]
  ) {
    assertEquals(isPdfUrl(url), true, url);
  }
  for (
    const url of [
      "https://a.example/b.png?c.pdf",
      "https://a.example/#.pdf",
      "https://a.pdf/",
      "data:a.pdf",
    ]
  ) {
    assertEquals(isPdfUrl(url), false, url);
  }
});
