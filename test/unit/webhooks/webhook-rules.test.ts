// The rules of webhooks without a connection: allowed targets, retry times and signatures.
import { createHmac } from 'node:crypto';
import { readSenderConfig } from '../../../src/platform/config/sender-config.js';
import { delayAfterMs, retryAfterSecOf } from '../../../src/modules/sender/schedule.js';
import { signedHeaders } from '../../../src/modules/webhooks/webhook-signature.js';
import { AddressRules } from '../../../src/modules/webhooks/address-rules.js';

const OPEN = { ports: [443, 8443], allowNetworks: [], denyNetworks: [], allowHttp: false };
const rules = (more: object = {}): AddressRules => new AddressRules({ ...OPEN, ...more });

it('a process that may not list the machine’s addresses names the missing permission', () => {
  const refused = (): never => {
    throw new Error('A system error occurred: uv_interface_addresses returned Unknown system error 97');
  };
  expect(() => new AddressRules(OPEN, refused)).toThrow(/system error 97.*AF_NETLINK in RestrictAddressFamilies/);
});

describe('an address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '::ffff:8.8.8.8'])(
    '%s is public',
    (address) => {
      expect(rules().mayConnect(address)).toBe(true);
    },
  );

  it.each([
    ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.16.0.1', '192.0.0.192', '192.0.2.1'],
    ...['192.168.1.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '100.100.100.200', '168.63.129.16'],
    ...['::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::127.0.0.1', '::7f00:1', '::8.8.8.8'],
    ...['64:ff9b::7f00:1', '64:ff9b::808:808', '2002:7f00:1::', '2001:db8::1', '2001::1', 'fc00::1', 'fd00:ec2::254'],
    ...[
      'fe80::1',
      'fe80::1%eth0',
      'ff02::1',
      'fd20:ce::254',
      '100::1',
      '4000::1',
      'not an address',
      '',
      '127.1',
      '0x7f000001',
    ],
  ])('%s is not', (address) => {
    expect(rules().mayConnect(address)).toBe(false);
  });

  it('of a private network is allowed if it is named, and never-allowed ones stay refused', () => {
    const own = rules({
      allowNetworks: ['127.0.0.0/8', '10.1.0.0/16', '169.254.0.0/16', 'fe80::/10', '168.63.129.16'],
    });
    expect(['127.0.0.1', '::ffff:127.0.0.1', '10.1.2.3', '10.2.0.1'].map((each) => own.mayConnect(each))).toEqual([
      true,
      true,
      true,
      false,
    ]);
    for (const never of ['169.254.169.254', 'fe80::1', '168.63.129.16', '::ffff:169.254.169.254']) {
      expect(own.mayConnect(never)).toBe(false);
    }
    expect(rules({ denyNetworks: ['8.8.0.0/16'] }).mayConnect('8.8.8.8')).toBe(false);
  });

  it('of this machine is refused even if it is public, in any form, unless an operator allows it', () => {
    const given = { family: 'IPv4', netmask: '', mac: '', internal: false, cidr: null } as const;
    const interfaces = () => ({
      eth0: [
        { ...given, address: '8.8.4.4' },
        { ...given, address: '2a00:1450:4001:81b::200e%eth0', family: 'IPv6' as const, scopeid: 0 },
      ],
    });
    const here = new AddressRules(OPEN, interfaces);
    for (const own of ['8.8.4.4', '::ffff:8.8.4.4', '2a00:1450:4001:81b::200e', '2a00:1450:4001:081b:0::200e']) {
      expect([own, here.mayConnect(own)]).toEqual([own, false]);
    }
    expect(here.mayConnect('8.8.8.8')).toBe(true);
    const allowed = new AddressRules({ ...OPEN, allowNetworks: ['8.8.4.4'] }, interfaces);
    expect(allowed.mayConnect('8.8.4.4')).toBe(true);
  });

  it('may be in a URL only if it is an allowed private one, on an allowed port', () => {
    const own = rules({ allowNetworks: ['127.0.0.1'], allowHttp: true, ports: [8080] });
    expect(own.destinationOf('http://127.0.0.1:8080/x?y=1')).toEqual({
      isTls: false,
      host: '127.0.0.1',
      isLiteral: true,
      port: 8080,
      path: '/x?y=1',
    });
    for (const refused of ['http://127.0.0.2:8080/', 'http://8.8.8.8:8080/', 'http://127.0.0.1:8081/']) {
      expect(own.destinationOf(refused)).toBeUndefined();
    }
  });

  it('is resolved by its name without the final dot', () => {
    expect(rules().destinationOf('https://Shop.Example.com./a')).toMatchObject({ host: 'shop.example.com', port: 443 });
    expect(rules().destinationOf('https://xn--bcher-kva.example/')).toBeDefined();
  });
});

describe('a delivery that failed', () => {
  it('is attempted twelve times, at growing intervals, each varied by a fifth', () => {
    const all = Array.from({ length: 13 }, (_, index) => delayAfterMs(index + 1, undefined, 0.5));
    const sec = [5, 30, 120, 600, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map((each) => each * 1000);
    expect(all).toEqual([...sec, undefined, undefined]);
    expect([delayAfterMs(1, undefined, 0), delayAfterMs(1, undefined, 1)]).toEqual([4000, 6000]);
  });

  it('is repeated no sooner than the receiver asks, up to a day', () => {
    expect(delayAfterMs(1, 60, 0.5)).toBe(60_000);
    expect(delayAfterMs(4, 60, 0.5)).toBe(600_000);
    expect(delayAfterMs(1, 10_000_000, 0.5)).toBe(86_400_000);
    const now = Date.parse('2026-11-20T12:00:00Z');
    expect(
      ['120', ' 7 ', 'Fri, 20 Nov 2026 12:01:00 GMT', 'Fri, 20 Nov 2026 11:00:00 GMT', 'soon', '-5', undefined].map(
        (each) => retryAfterSecOf(each, now),
      ),
    ).toEqual([120, 7, 60, 0, undefined, expect.anything(), undefined]);
  });
});

describe('a signature', () => {
  it('has one value for each secret, over id, time and body', () => {
    const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const secrets = [one, two].map((key) => `whsec_${key.toString('base64')}`);
    const headers = signedHeaders('evt_1', 1_700_000_000, '{"a":1}', secrets);
    const by = (key: Buffer): string =>
      `v1,${createHmac('sha256', key).update('evt_1.1700000000.{"a":1}').digest('base64')}`;
    expect(headers).toEqual({
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1700000000',
      'webhook-signature': `${by(one)} ${by(two)}`,
    });
  });
});

describe('the settings of the sender', () => {
  const KEY = Buffer.alloc(32, 3).toString('base64');
  const env = { DATABASE_URL: 'postgres://here/db', SEAL_KEY_WEBHOOKS: KEY };

  it('are its database and its only key', () => {
    const config = readSenderConfig(env);
    expect([...config.secrets.sealKeys.keys()]).toEqual(['webhook-secret']);
    expect(() => readSenderConfig({ DATABASE_URL: env.DATABASE_URL })).toThrow('cli secrets derive --for sender');
  });

  it.each(['MASTER_KEY', 'MASTER_KEY_PREVIOUS', 'SEAL_KEY_API_KEYS', 'SEAL_KEY_POOL_KEYS', 'SEAL_KEY_QUOTES'])(
    'refuse %s',
    (name) => {
      expect(() => readSenderConfig({ ...env, [name]: KEY })).toThrow(`${name} is set`);
    },
  );
});
