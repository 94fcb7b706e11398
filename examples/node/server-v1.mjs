// The same MCP server on @modelcontextprotocol/sdk 1.x.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { openTools } from './tools.mjs';

const { evalRenderer, evalSandbox, close } = await openTools();

const server = new McpServer({ name: 'evalward-example', version: '0.0.0' });
for (const { name, description, input, call } of [evalRenderer, evalSandbox]) {
  server.registerTool(name, { description, inputSchema: input.shape }, call);
}
process.stdin.once('close', close);
await server.connect(new StdioServerTransport());
