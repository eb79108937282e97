// Receivers of webhooks on this machine, over http and under TLS as shop.example.com: what came, and what is answered.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newAuthority } from './certificates.js';
import { startDnsServer } from './dns-server.js';

export interface Taken {
  readonly path: string;
  readonly headers: Record<string, string>;
  body: string;
}

export type Answer = (taken: Taken, response: ServerResponse) => void;

export interface Receivers {
  readonly port: number;
  /** Where all that came before is read when a sender may write: requests written one after the other arrive so. */
  readonly tlsPort: number;
  /** For a sender: whom it asks for shop.example.com, and whose certificates it trusts. */
  readonly env: Record<string, string>;
  /** In the order in which it began to arrive. */
  readonly taken: Taken[];
  /** By path; 204 unless said. */
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
  // By TLS 1.3 a sender writes while the end of its handshake is unread, and is read in the order of those ends.
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
