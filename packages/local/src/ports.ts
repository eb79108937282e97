import { createServer } from 'node:net';

async function listenOn(port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1' }, resolve);
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

/**
 * Returns a port of 127.0.0.1 that was free a moment ago. Another process may take it meanwhile, so the caller must be
 * ready to retry.
 */
export const freePort = (): Promise<number> => listenOn(0);

/** Returns true if no program listened on the port of 127.0.0.1 a moment ago. */
export const isFree = (port: number): Promise<boolean> =>
  listenOn(port).then(
    () => true,
    () => false,
  );
