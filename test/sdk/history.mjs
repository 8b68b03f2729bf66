// A host of the history on the official TypeScript SDK: node history.mjs TARGET CALLS.
//
// TARGET is JSON: {"url": ..., "token": ...}, or {"command": ..., "args": [...], "env": {...}}. CALLS is a JSON array of
// {"tool": ..., "args": {...}}. It prints one line of JSON, {"tools": [names], "answers": [{"text": ..., "isError": ...}]}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [target, calls] = process.argv.slice(2).map((arg) => JSON.parse(arg));
const client = new Client({ name: "sdk-test", version: "1" });
await client.connect(
  target.url
    ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: { Authorization: `Bearer ${target.token}` } } })
    : new StdioClientTransport(target),
);
const { tools } = await client.listTools();
const answers = [];
for (const { tool, args } of calls) {
  const { content, isError } = await client.callTool({ name: tool, arguments: args });
  answers.push({ text: content.map((part) => part.text).join(""), isError: isError ?? false });
}
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answers }));
await client.close();
