/*
 * Writes a request of the API as code in four languages. The code needs nothing beyond the language itself, so that it
 * runs wherever it is pasted; the key comes from the environment.
 */

const keyName = "GATEWAY_API_KEY";

/* The member of an answer that people want to see, by endpoint. */
const files = { "/v1/audio/speech": true };

function pretty(body) {
  return JSON.stringify(body, undefined, 2);
}

function fileName({ body }) {
  return `speech.${body.response_format ?? "mp3"}`;
}

function curlCode({ path, body }, baseUrl) {
  const output = files[path] ? ` --output ${fileName({ body })}` : "";
  // A document between quoted marks is passed as it is, whatever quotes and dollar signs it has.
  return `curl ${baseUrl}${path}${output} \\
  -H "authorization: Bearer $${keyName}" \\
  -H "content-type: application/json" \\
  --data-binary @- <<'JSON'
${pretty(body)}
JSON`;
}

/* JSON as Python writes it: the texts are the same, three words are not. */
function pythonLiteral(value, indent = "") {
  const inner = `${indent}    `;
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    const items = value.map((item) => `${inner}${pythonLiteral(item, inner)},\n`);
    return `[\n${items.join("")}${indent}]`;
  }
  if (typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    const items = entries.map(([name, item]) =>
      `${inner}${JSON.stringify(name)}: ${pythonLiteral(item, inner)},\n`
    );
    return `{\n${items.join("")}${indent}}`;
  }
  return JSON.stringify(value);
}

const pythonShown = {
  "/v1/chat/completions":
    'message = answer["choices"][0]["message"]\nprint(message.get("content") or message)',
  "/v1/images/generations":
    'for at, image in enumerate(answer["data"]):\n    with open(f"image-{at + 1}.png", "wb") as file:\n        file.write(base64.b64decode(image["b64_json"]))',
  "/v1/videos": 'print(answer["id"], answer["status"])',
};

function pythonCode({ path, body }, baseUrl) {
  const isImage = path === "/v1/images/generations";
  const read = files[path]
    ? `with urllib.request.urlopen(request) as response:
    with open("${fileName({ body })}", "wb") as file:
        file.write(response.read())`
    : `with urllib.request.urlopen(request) as response:
    answer = json.load(response)
${pythonShown[path]}`;
  return `${isImage ? "import base64\n" : ""}import json
import os
import urllib.request

body = ${pythonLiteral(body)}
request = urllib.request.Request(
    "${baseUrl}${path}",
    data=json.dumps(body).encode(),
    headers={
        "authorization": "Bearer " + os.environ["${keyName}"],
        "content-type": "application/json",
    },
)
${read}`;
}

const scriptShown = {
  "/v1/chat/completions": `const answer = await response.json();
const { message } = answer.choices[0];
console.log(message.content ?? message);`,
  "/v1/images/generations": `const answer = await response.json();
for (const [at, image] of answer.data.entries()) {
  await writeFile(\`image-\${at + 1}.png\`, Buffer.from(image.b64_json, "base64"));
}`,
  "/v1/videos": `const answer = await response.json();
console.log(answer.id, answer.status);`,
};

function typeScriptCode({ path, body }, baseUrl) {
  const isImage = path === "/v1/images/generations";
  const imports = [
    ...isImage ? ['import { Buffer } from "node:buffer";'] : [],
    ...isImage || files[path] ? ['import { writeFile } from "node:fs/promises";'] : [],
    'import process from "node:process";',
  ];
  const read = files[path]
    ? `await writeFile("${fileName({ body })}", new Uint8Array(await response.arrayBuffer()));`
    : scriptShown[path];
  return `${imports.join("\n")}

const body = ${pretty(body)};
const response = await fetch("${baseUrl}${path}", {
  method: "POST",
  headers: {
    authorization: \`Bearer \${process.env.${keyName}}\`,
    "content-type": "application/json",
  },
  body: JSON.stringify(body),
});
if (!response.ok) throw new Error(await response.text());
${read}`;
}

/* A raw string of Go holds everything but its own quote, which JSON can write as an escape. */
function goLiteral(body) {
  return `\`${pretty(body).replaceAll("`", "\\u0060")}\``;
}

function goCode({ path, body }, baseUrl) {
  const target = files[path]
    ? `file, err := os.Create("${fileName({ body })}")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	io.Copy(file, response.Body)`
    : "io.Copy(os.Stdout, response.Body)";
  return `package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(${goLiteral(body)})
	request, err := http.NewRequest("POST", "${baseUrl}${path}", body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("authorization", "Bearer "+os.Getenv("${keyName}"))
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	${target}
}`;
}

/** The languages, in the order in which they are offered. */
export const codeWriters = {
  curl: curlCode,
  Python: pythonCode,
  TypeScript: typeScriptCode,
  Go: goCode,
};
