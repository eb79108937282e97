// Free ports on the loopback address.
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nobody listened on a moment ago. Another process may take it before its
 * user does, so whoever starts a server on it must be ready to try again.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1' }, resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
