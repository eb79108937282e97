// Precompiled contracts of java-tron 4.8.2. Each case names its source.
import { createHash, createPublicKey, generateKeyPairSync, sign as signWith } from 'node:crypto';
import secp256k1 from 'secp256k1';
import { type Answer, type Client, type Key, addressWord, keyOf, startChain, word } from './client.js';
import { assemble } from './contracts/assembler.js';
import { LIMIT, NOTHING, type Result, callPrecompiled as call } from './contracts/precompile-caller.js';

const bank = keyOf('bank');
const pool = keyOf('pool');
let latest: Client;
let former: Client;

beforeAll(async () => {
  [latest, former] = await Promise.all([startChain(), startChain({ version: '4.8.0' })]);
});
afterAll(() => Promise.all([latest.node.stop(), former.node.stop()]));

async function withParameter<T>(chain: Client, name: string, value: number, body: () => Promise<T>): Promise<T> {
  const before = name === 'getAllowTvmCompatibleEvm' ? 0 : 1;
  await chain.node.control('parameters', { [name]: value });
  try {
    return await body();
  } finally {
    await chain.node.control('parameters', { [name]: before });
  }
}

const hash = (name: string, hex: string): string => createHash(name).update(Buffer.from(hex, 'hex')).digest('hex');
const ABC = Buffer.from('abc').toString('hex');

test('an address without precompiled contract gives nothing, for the price of the call alone', async () => {
  expect(await call(latest, 0x77, ABC)).toEqual(NOTHING);
});

test('a word with bits above the address names no precompiled contract (PrecompiledContracts.getContractForAddress)', async () => {
  for (const prefix of [0x41n, 1n])
    for (const address of [2n, 0x1000013n])
      expect(await call(latest, (prefix << 160n) + address, ABC)).toEqual(NOTHING);
});

test('0x02 is SHA-256; 0x03 is SHA-256 of the first 20 bytes of SHA-256 (PrecompiledContracts.Ripempd160)', async () => {
  const twice = hash('sha256', hash('sha256', ABC).slice(0, 40));
  for (const chain of [latest, former]) {
    expect(await call(chain, 2, ABC)).toEqual({ succeeded: true, energy: 72, output: hash('sha256', ABC) });
    expect(await call(chain, 3, ABC)).toEqual({ succeeded: true, energy: 720, output: twice });
  }
});

test('0x20003 is RIPEMD-160 under compatible-EVM rules only (TIP-272)', async () => {
  // The value for "abc" in the authors' description of RIPEMD-160.
  const expected = '8eb208f7e05d987a9b044a8e98c6b087f15a0bfc'.padStart(64, '0');
  expect(await call(latest, 0x20003, ABC)).toEqual(NOTHING);
  await withParameter(latest, 'getAllowTvmCompatibleEvm', 1, async () => {
    expect(await call(latest, 0x20003, ABC)).toEqual({ succeeded: true, energy: 720, output: expected });
  });
});

// EIP-152, test vector 5: one block of BLAKE2b, so that the result is the hash of "abc".
const BLAKE_STATE =
  '48c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b';
const BLAKE = `0000000c${BLAKE_STATE}${`61626300`.padEnd(256, '0')}${'03'.padEnd(32, '0')}01`;
const BLAKE_OUTPUT = hash('blake2b512', ABC);

test('0x20009 is BLAKE2F under compatible-EVM rules, for a price of its rounds (EIP-152, TIP-272)', async () => {
  expect(await call(latest, 0x20009, BLAKE)).toEqual(NOTHING);
  await withParameter(latest, 'getAllowTvmCompatibleEvm', 1, async () => {
    expect(await call(latest, 0x20009, BLAKE)).toEqual({ succeeded: true, energy: 12, output: BLAKE_OUTPUT });
    // A flag other than 0 and 1 fails and costs all that the call brought.
    const flagged = `${BLAKE.slice(0, -2)}02`;
    expect(await call(latest, 0x20009, flagged)).toEqual({ succeeded: false, energy: LIMIT, output: '' });
  });
});

/** Input of 0x100 from a key of Node's own. */
function p256(message: string): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signature = signWith('sha256', Buffer.from(message), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const point = [x, y].map((part) => Buffer.from(part, 'base64url').toString('hex').padStart(64, '0')).join('');
  return hash('sha256', Buffer.from(message).toString('hex')) + signature.toString('hex') + point;
}

test('0x100 verifies P-256 signatures since Osaka, for 6 900 (TIP-7951)', async () => {
  const good = p256('hello');
  expect(await call(latest, 0x100, good)).toEqual({ succeeded: true, energy: 6_900, output: word(1) });
  const refused = { succeeded: true, energy: 6_900, output: '' };
  expect(await call(latest, 0x100, p256('one').slice(0, 64) + good.slice(64))).toEqual(refused);
  expect(await call(latest, 0x100, good.slice(0, -2))).toEqual(refused);
  expect(await call(latest, 0x100, `${good.slice(0, 192)}${'00'.repeat(64)}`)).toEqual(refused);
  expect(await call(former, 0x100, good)).toEqual(NOTHING);
});

function modexp(base: string, exponent: string, modulus: string): string {
  const parts = [base, exponent, modulus];
  return parts.map((part) => word(part.length / 2)).join('') + parts.join('');
}

test('0x05 has the prices and bounds of Osaka, and of EIP-198 before', async () => {
  const small = modexp('03', '05', '07');
  expect(await call(latest, 5, small)).toEqual({ succeeded: true, energy: 500, output: '05' });
  expect(await call(former, 5, small)).toEqual({ succeeded: true, energy: 0, output: '05' });
  const zero = modexp('03', '05', '0000');
  expect(await call(latest, 5, zero)).toEqual({ succeeded: true, energy: 500, output: '0000' });
  expect(await call(former, 5, zero)).toEqual({ succeeded: true, energy: 0, output: '' });
  const long = word(1_025) + word(1) + word(1);
  expect(await call(latest, 5, long)).toEqual({ succeeded: false, energy: LIMIT, output: '' });
});

test('0x06, 0x07 and 0x08 have the prices of Istanbul, and higher ones without it (TIP-176)', async () => {
  const energies = (): Promise<number[]> =>
    Promise.all([6, 7, 8].map(async (address) => (await call(latest, address, '')).energy));
  expect(await energies()).toEqual([150, 6_000, 45_000]);
  // CHAINID and others go with the rule, but this program has none of them.
  const before = await withParameter(latest, 'getAllowTvmIstanbul', 0, energies);
  expect(before).toEqual([500, 40_000, 100_000]);
});

function signature(key: Key, digest: string): string {
  const { signature: bytes, recid } = secp256k1.ecdsaSign(Buffer.from(digest, 'hex'), Buffer.from(key.secret, 'hex'));
  return Buffer.from(bytes).toString('hex') + (27 + recid).toString(16);
}

test('0x01 gives the signer with 41 above the address (PrecompiledContracts.ECRecover)', async () => {
  const digest = hash('sha256', ABC);
  const signed = signature(bank, digest);
  const input = digest + signed.slice(128).padStart(64, '0') + signed.slice(0, 128);
  expect(await call(latest, 1, input)).toEqual({ succeeded: true, energy: 3_000, output: bank.hex.padStart(64, '0') });
});

/** Encodes an array of signatures: their count, offsets, then length and content of each. */
function signatureArray(signatures: readonly string[]): string {
  const offsets = signatures.map((_, i) => word(32 * (signatures.length + 4 * i))).join('');
  return word(signatures.length) + offsets + signatures.map((s) => word(65) + s.padEnd(192, '0')).join('');
}

/** Input of 0x09: hash, signatures, addresses. */
function batch(digest: string, signatures: readonly string[], addresses: readonly string[]): string {
  const tail = signatureArray(signatures);
  return digest + word(96) + word(96 + tail.length / 2) + tail + word(addresses.length) + addresses.join('');
}

test('0x09 marks each signature that is the named address (BatchValidateSign, TIP-43)', async () => {
  const digest = hash('sha256', ABC);
  const signatures = [bank, pool, bank].map((key) => signature(key, digest));
  const input = batch(
    digest,
    signatures,
    [bank, bank, bank].map(({ hex }) => addressWord(hex)),
  );
  const expected = { succeeded: true, energy: 4_500, output: '010001'.padEnd(64, '0') };
  expect(await call(latest, 9, input)).toEqual(expected);
  expect(await call(former, 9, input)).toEqual(expected);
  const off = await withParameter(latest, 'getAllowTvmSolidity059', 0, () => call(latest, 9, input));
  expect(off).toEqual(NOTHING);
});

test('0x09 and 0x0a refuse input of another shape since Osaka, and take it before (TIP-854)', async () => {
  const digest = hash('sha256', ABC);
  const input = `${batch(digest, [signature(bank, digest)], [addressWord(bank.hex)])}00`;
  const refused = { succeeded: false, energy: LIMIT, output: '' };
  expect(await call(latest, 9, input)).toEqual(refused);
  expect(await call(former, 9, input)).toEqual({ succeeded: true, energy: 1_500, output: '01'.padEnd(64, '0') });
  expect(await call(latest, 10, digest.repeat(5))).toEqual(refused);
});

/** Input of 0x0a: account, permission, content, signatures. */
function multi(account: Key, permission: number, content: string, signatures: readonly string[]): string {
  return addressWord(account.hex) + word(permission) + content + word(128) + signatureArray(signatures);
}

test('0x0a tells if signatures reach the threshold of a permission (ValidateMultiSign, TIP-60)', async () => {
  const shared = keyOf('shared account');
  await latest.run(bank, 'createtransaction', { to_address: shared.address, amount: 200_000_000 });
  const keys = [bank, pool].map(({ address }) => ({ address, weight: 1 }));
  await latest.run(shared, 'accountpermissionupdate', {
    owner: { type: 0, permission_name: 'owner', threshold: 2, keys },
    actives: [{ type: 2, permission_name: 'active', threshold: 1, operations: '02'.padEnd(64, '0'), keys }],
  });
  const content = hash('sha256', ABC);
  const digest = (permission: number): string =>
    hash('sha256', shared.hex + permission.toString(16).padStart(8, '0') + content);
  const ask = (permission: number, signers: readonly Key[]): Promise<Result> => {
    const signatures = signers.map((key) => signature(key, digest(permission)));
    return call(latest, 10, multi(shared, permission, content, signatures));
  };
  expect(await ask(0, [bank, pool])).toEqual({ succeeded: true, energy: 3_000, output: word(1) });
  expect(await ask(0, [bank])).toEqual({ succeeded: true, energy: 1_500, output: word(0) });
  expect(await ask(2, [pool])).toEqual({ succeeded: true, energy: 1_500, output: word(1) });
  expect(await ask(0, [bank, shared])).toEqual({ succeeded: true, energy: 3_000, output: word(0) });
  expect(await ask(7, [bank])).toEqual({ succeeded: true, energy: 1_500, output: word(0) });
  // The same signature twice counts once.
  expect(await ask(0, [bank, bank])).toEqual({ succeeded: true, energy: 3_000, output: word(0) });
});

test('a call writes no more output than it asked for; before the restriction, all of it (Program.callToPrecompiledAddress)', async () => {
  // 4 bytes are asked of SHA-256; the word at 0 shows how many arrived.
  const program = assemble('4 0 0 0 2 5000 STATICCALL POP 32 0 RETURN');
  const written = async (chain: Client): Promise<unknown> => {
    const answer: Answer = await chain.post('triggerconstantcontract', { owner_address: bank.address, data: program });
    return (answer['constant_result'] as readonly string[])[0];
  };
  const whole = hash('sha256', '');
  expect(await written(latest)).toBe(whole.slice(0, 8).padEnd(64, '0'));
  expect(await written(former)).toBe(whole);
});
