// An agent on the official TypeScript SDK: node agent.mjs URL TOKEN NAME.
//
// It prints a line of JSON for each thing that happens: {"ready": true} once it
// is connected, {"event": {...}} for each notifications/claude/channel, and
// {"answer": {...}} for each line {"tool": ..., "args": {...}} on its input. It
// ends with its input.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token, name] = process.argv.slice(2);
const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");

const client = new Client({ name: "sdk-test", version: "1" });
client.fallbackNotificationHandler = async ({ method, params }) => {
  if (method === "notifications/claude/channel") say({ event: params });
};
client.onerror = (error) => console.error(String(error));
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}`, "X-Signal-Agent-Id": name } },
  }),
);
const { tools } = await client.listTools();
say({ ready: true, tools: tools.map((tool) => tool.name), server: client.getServerCapabilities() });

for await (const line of createInterface({ input: process.stdin })) {
  const { tool, args } = JSON.parse(line);
  const { content, isError } = await client.callTool({ name: tool, arguments: args });
  say({ answer: { text: content.map((part) => part.text).join(""), isError: isError ?? false } });
}
process.exit(0); // without a DELETE, as agents do
