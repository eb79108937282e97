// Webhook receivers on this machine, over http and, as shop.example.com, over TLS. They record requests and send set
// answers.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newAuthority } from '../certificates.js';
import { startDnsServer } from './dns-server.js';

export interface Taken {
  readonly path: string;
  readonly headers: Record<string, string>;
  body: string;
}

export type Answer = (taken: Taken, response: ServerResponse) => void;

export interface Receivers {
  readonly port: number;
  /** Limited to TLS 1.2: its handshake lets a sender write only after the server has read all earlier requests. */
  readonly tlsPort: number;
  /** Settings of a sender: the DNS server that resolves shop.example.com, and the certificates to trust. */
  readonly env: Record<string, string>;
  /** In order of arrival. */
  readonly taken: Taken[];
  /** By path; 204 by default. */
  readonly answers: Map<string, Answer>;
  readonly close: () => Promise<void>;
}

export async function openReceivers(): Promise<Receivers> {
  const taken: Taken[] = [];
  const answers = new Map<string, Answer>();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const one = { path: request.url ?? '', headers: request.headers as Record<string, string>, body: '' };
    taken.push(one);
    request.on('data', (chunk: Buffer) => (one.body += chunk.toString()));
    request.on('end', () => {
      const answer = answers.get(one.path);
      if (answer === undefined) response.writeHead(204).end();
      else answer(one, response);
    });
  };
  const authority = newAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'webhooks-'));
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, authority.ca);
  const dns = await startDnsServer();
  dns.answer = () => ['127.0.77.1'];
  // Under TLS 1.3 a sender may write before the server has read its handshake, so requests could arrive out of order.
  const tls = { ...authority.issue(['shop.example.com']), maxVersion: 'TLSv1.2' } as const;
  const servers = [createServer(listener), createHttps(tls, listener)];
  for (const each of servers) {
    each.listen(0, '0.0.0.0');
    await once(each, 'listening');
  }
  const [port, tlsPort] = servers.map((each) => (each.address() as AddressInfo).port) as [number, number];
  return {
    port,
    tlsPort,
    env: { WEBHOOK_DNS_SERVERS: dns.server, WEBHOOK_CA_FILE: caFile },
    taken,
    answers,
    close: async () => {
      for (const each of servers) {
        each.closeAllConnections();
        each.close();
      }
      await dns.close();
      rmSync(folder, { recursive: true });
    },
  };
}
