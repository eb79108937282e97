/** The headers of Standard Webhooks 1.0. */
import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

/** One signature for each secret, so that a receiver may hold either during a rotation. `id` holds no dot. */
export function signedHeaders(
  id: string,
  timestampSec: number,
  body: string,
  secrets: readonly string[],
): Record<string, string> {
  const content = `${id}.${timestampSec.toString()}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestampSec.toString(),
    'webhook-signature': signatures.join(' '),
  };
}
