// An MCP server over stdio, on @modelcontextprotocol/server 2.x.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { openTools } from './tools.mjs';

const { evalRenderer, evalSandbox, close } = await openTools();

serveStdio(() => {
  const server = new McpServer({ name: 'evalward-example', version: '0.0.0' });
  for (const { name, description, input, call } of [evalRenderer, evalSandbox]) {
    server.registerTool(name, { description, inputSchema: input }, call);
  }
  return server;
});
process.stdin.once('close', close);
