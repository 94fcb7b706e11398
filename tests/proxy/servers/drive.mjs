// The client of the official TypeScript SDK: connects to the command, makes the calls of the JSON on standard input
// and prints the results, one line of JSON each, after the names of the listed tools.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { command, env, calls } = JSON.parse(readFileSync(0, "utf8"));
const client = new Client({ name: "drive", version: "1" });
const transport = new StdioClientTransport({
  command: command[0],
  args: command.slice(1),
  env: { ...process.env, ...env },
  stderr: "ignore",
});
await client.connect(transport);
const { tools } = await client.listTools();
console.log(JSON.stringify(tools.map((tool) => tool.name)));
for (const [name, args] of calls) {
  console.log(JSON.stringify(await client.callTool({ name, arguments: args })));
}
await client.close();
