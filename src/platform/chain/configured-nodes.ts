/** Builds the options of each node from the settings, without mixing keys or URLs between nodes. Pure. */
import type { Config } from '../config/config.js';
import type { NodeOptions } from './node.js';

export interface ConfiguredNode extends NodeOptions {
  /** Its place in TRON_FULL_NODE_URLS. */
  readonly index: number;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export function nodeOptionsOf(chain: Config['chain']): ConfiguredNode[] {
  const hosts = chain.fullNodeUrls.map((url) => new URL(url).host);
  return chain.fullNodeUrls.map((fullUrl, index) => ({
    index,
    name: nameAt(hosts, index),
    fullUrl,
    solidUrl: chain.solidityNodeUrls[index] ?? fullUrl,
    apiKey: chain.apiKeys[index],
    readTimeoutMs: chain.readTimeoutMs,
    broadcastTimeoutMs: chain.broadcastTimeoutMs,
    connectionsMax: chain.connectionsMax,
    headStallSec: chain.headStallSec,
    headAgeMaxSec: chain.headAgeMaxSec,
  }));
}

/** Returns a node's host, with a number from the second node of one host on, such as two keys of one provider. */
function nameAt(hosts: readonly string[], index: number): string {
  const host = hosts[index] ?? '';
  const before = hosts.slice(0, index).filter((other) => other === host).length;
  return before === 0 ? host : `${host} (${(before + 1).toString()})`;
}

/** Returns the account that a provider's rate limit applies to: one key at one host. */
export function accountAt({ fullUrl, apiKey }: NodeOptions): string {
  return `${new URL(fullUrl).host} ${apiKey ?? ''}`;
}

/** Returns the hosts, except this machine, that receive an API key without TLS. */
export function keysInClear(chain: Config['chain']): string[] {
  const urls = nodeOptionsOf(chain).flatMap(({ fullUrl, solidUrl, apiKey }) =>
    apiKey === undefined ? [] : [new URL(fullUrl), new URL(solidUrl)],
  );
  const open = urls.filter(({ protocol, hostname }) => protocol === 'http:' && !LOOPBACK.test(hostname));
  return [...new Set(open.map(({ host }) => host))];
}
