// The common parser of addresses and ranges for settings, the CLI and allowlists.
import { parseIpRange } from '../../../src/platform/support/ip-range.js';

it.each([
  ['10.1.2.3', { address: '10.1.2.3', length: 32, family: 'ipv4' }],
  ['10.0.0.0/8', { address: '10.0.0.0', length: 8, family: 'ipv4' }],
  ['0.0.0.0/0', { address: '0.0.0.0', length: 0, family: 'ipv4' }],
  ['::1', { address: '::1', length: 128, family: 'ipv6' }],
  ['2001:db8::/32', { address: '2001:db8::', length: 32, family: 'ipv6' }],
])('%s is an address or a range', (text, range) => {
  expect(parseIpRange(text)).toEqual(range);
});

it.each([
  '',
  'example.com',
  '10.0.0',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0/-1',
  '10.0.0.0/8/8',
  '::1/129',
  '10.0.0.0/x',
])('%j is neither', (text) => {
  expect(parseIpRange(text)).toBeUndefined();
});
