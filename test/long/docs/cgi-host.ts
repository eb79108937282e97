// A web server that runs a CGI program (RFC 3875) for each request.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';

/** Closes the connection, so that unread bytes of a request do not become part of the next one. */
const CLOSING = { Connection: 'close' };

export interface CgiHost {
  readonly close: () => void;
}

export async function openCgiHost(port: number, program: string, env: NodeJS.ProcessEnv): Promise<CgiHost> {
  const server = createServer((request, response) => {
    answerOf(request, program, env).then(
      ({ status, body }) => response.writeHead(status, CLOSING).end(body),
      () => response.writeHead(500, CLOSING).end(),
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answerOf(
  request: IncomingMessage,
  program: string,
  env: NodeJS.ProcessEnv,
): Promise<{ status: number; body: string }> {
  const headers = Object.entries(request.headers).map(([name, value]) => [
    `HTTP_${name.toUpperCase().replaceAll('-', '_')}`,
    String(value),
  ]);
  const child = spawn(program, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      ...env,
      ...(Object.fromEntries(headers) as NodeJS.ProcessEnv),
      GATEWAY_INTERFACE: 'CGI/1.1',
      REQUEST_METHOD: request.method,
      CONTENT_LENGTH: request.headers['content-length'],
    },
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  let said = '';
  child.stdout.on('data', (chunk) => (said += String(chunk)));
  await once(child, 'close');
  request.unpipe();
  request.resume();
  if (!said.includes('\r\n\r\n')) throw new Error('the program ended without an answer');
  const [head = '', body = ''] = said.split('\r\n\r\n');
  return { status: Number(/^Status: (\d{3})/m.exec(head)?.[1] ?? 200), body };
}
