import { createServer } from 'node:net';

/**
 * Returns a port of 127.0.0.1 that was free a moment ago. Another process may take it meanwhile, so the caller must be
 * ready to retry.
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
