// A certificate authority for tests, and certificates under it. They are encoded as X.509 here, without openssl.
import { createSign, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128
      ? Buffer.of(body.length)
      : body.length < 256
        ? Buffer.of(0x81, body.length)
        : Buffer.of(0x82, body.length >> 8, body.length & 0xff);
  return Buffer.concat([Buffer.of(tag), length, body]);
};
const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const nameOf = (common: string): Buffer => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(common)))));
const timeOf = (ms: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(ms).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`));
const DAY_MS = 86_400_000;

const pemOf = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replace(/(.{64})(?=.)/g, '$1\n')}\n-----END CERTIFICATE-----\n`;

interface Subject {
  readonly common: string;
  readonly publicKey: KeyObject;
  /** DNS names of the certificate. An authority has none. */
  readonly names: readonly string[];
}

function certificate({ common, publicKey, names }: Subject, issuer: string, by: KeyObject, isOver: boolean): string {
  const extension = (id: string, ...value: readonly Buffer[]): Buffer => sequence(oid(id), der(0x04, ...value));
  const extensions =
    names.length === 0
      ? extension('551d13', sequence(der(0x01, Buffer.of(0xff))))
      : extension('551d11', sequence(...names.map((name) => der(0x82, Buffer.from(name)))));
  const beginMs = Date.now() - 2 * DAY_MS;
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(timeOf(beginMs), timeOf(beginMs + (isOver ? DAY_MS : 365 * DAY_MS))),
    nameOf(common),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extensions)),
  );
  const signature = createSign('sha256').update(content).sign(by);
  return pemOf(sequence(content, ECDSA_SHA256, der(0x03, Buffer.of(0), signature)));
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pemOfKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string;

export interface Authority {
  /** The authority's own certificate. */
  readonly ca: string;
  readonly issue: (names: readonly string[], isOver?: boolean) => { readonly key: string; readonly cert: string };
}

export function newAuthority(): Authority {
  const own = newKeys();
  const common = 'authority of the tests';
  return {
    ca: certificate({ common, publicKey: own.publicKey, names: [] }, common, own.privateKey, false),
    issue: (names, isOver = false) => {
      const { publicKey, privateKey } = newKeys();
      const subject = { common: names[0] ?? '', publicKey, names };
      return { key: pemOfKey(privateKey), cert: certificate(subject, common, own.privateKey, isOver) };
    },
  };
}
