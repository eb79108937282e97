// The connections of one process to a port of a node: a java-tron port serves fifty, shared by all processes.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { TronNode } from '../../../src/platform/chain/node.js';
import { accountOf } from '../../../src/platform/chain/tron.client.js';
import { until } from '../../../packages/local/src/wait.js';
import { newOwner } from '../../support/chain/order-chain.js';

const CONNECTIONS = 8;
const READS = 60;

let server: Server;
let node: TronNode;
const sockets = new Set<Socket>();
/** The most connections open at a time. */
let most = 0;
let held: ServerResponse[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    if (request.url === '/wallet/broadcasthex') response.end('{"result":true,"code":"SUCCESS"}');
    else held.push(response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  const limits = { readTimeoutMs: 30_000, broadcastTimeoutMs: 5000, headStallSec: 30, headAgeMaxSec: 0 };
  node = new TronNode({ fullUrl: url, solidUrl: url, apiKey: undefined, connectionsMax: CONNECTIONS, ...limits });
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

it('reads wait for each other beyond the limit, a broadcast waits for none of them, and all are answered', async () => {
  const answered = Promise.allSettled(Array.from({ length: READS }, async () => accountOf(node, newOwner().address)));
  await until(() => Promise.resolve(held.length > 0 ? true : undefined), 5000, 'the first reads');
  expect(await node.broadcastHex('00')).toMatchObject({ result: true });
  const state = { isDone: false };
  void answered.finally(() => (state.isDone = true));
  while (!state.isDone) {
    const responses = held;
    held = [];
    for (const response of responses) response.end('{}');
    await new Promise(setImmediate);
  }
  expect(await answered).toEqual(Array.from({ length: READS }, () => ({ status: 'fulfilled', value: undefined })));
  expect(most).toBeLessThanOrEqual(CONNECTIONS);
});
