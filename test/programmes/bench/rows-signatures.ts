// The cost of HMAC signatures for the service, next to the same requests with MD5. All are signed before the
// measurement.
import { randomBytes } from 'node:crypto';
import type autocannon from 'autocannon';
import { hmacHeaders } from '../../support/api/client.js';
import { compare, type Load, type Row } from './measure.js';
import type { Pace } from './rows-http.js';
import type { BenchCluster, Tenant } from './cluster.js';

const CONNECTIONS = 32;
/** More than a round can consume: a nonce is accepted once. */
const PER_SEC_MAX = 8000;

interface Call {
  readonly what: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly expect: readonly number[];
}

type Signed = autocannon.Request & { headers: Record<string, string> };

/** Sends each of `requests` once; running out fails the bench. */
function inTurn(cluster: BenchCluster, requests: readonly Signed[], expect: readonly number[]): Load {
  let next = 0;
  const [first] = requests;
  const setupRequest = (): autocannon.Request => {
    const request = requests[next];
    next += 1;
    if (request === undefined) throw new Error('the round used up its requests');
    return request;
  };
  return { url: cluster.apiUrl, connections: CONNECTIONS, requests: [{ ...first, setupRequest }], expect };
}

/** Replaces the MD5 signature of a request with an HMAC signature. */
function byHmac(request: Signed, { id, apiKey }: Tenant): Signed {
  const { Signature: _md5, ...headers } = request.headers;
  const { method = 'GET', path = '', body } = request;
  const key = headers['Idempotency-Key'];
  const signed = hmacHeaders(id, apiKey, {
    method,
    path,
    ...(body !== undefined && { body }),
    ...(key !== undefined && { idempotencyKey: key }),
  });
  return { ...request, headers: { ...headers, ...signed } };
}

export async function signatureRows(cluster: BenchCluster, pace: Pace): Promise<Row[]> {
  const order = { receive_address: cluster.sender, energy: 65_000 };
  const calls: readonly Call[] = [
    { what: 'GET /v1/balance', method: 'GET', path: '/v1/balance', expect: [200] },
    { what: 'POST /v1/orders', method: 'POST', path: '/v1/orders', body: order, expect: [202] },
  ];
  const rows: Row[] = [];
  for (const { what, method, path, body, expect } of calls) {
    const make = (sign: (request: Signed, tenant: Tenant) => Signed) => async (): Promise<Load> => {
      const requests = Array.from({ length: PER_SEC_MAX * pace.seconds }, (_, index) => {
        const tenant = cluster.tenant(index);
        const made = cluster.request(tenant, method, path, body);
        const keyed = {
          ...made,
          headers: { ...made.headers, 'Idempotency-Key': randomBytes(16).toString('base64url') },
        };
        return sign(method === 'POST' ? keyed : made, tenant);
      });
      return Promise.resolve(inTurn(cluster, requests, expect));
    };
    rows.push(
      await compare({
        what: `${what}, signed by HMAC`,
        against: 'signed by MD5',
        goal: '–',
        ...pace,
        ours: make(byHmac),
        limit: make((request) => request),
      }),
    );
  }
  return rows;
}
