// Reasons why a call of the reference token would fail, when the token itself gives none.
import { TOKENS, WHO, newAddress, transferArgs, wordOfAddress } from '../../support/chain/quote-chain.js';
import type { Abstract } from '@nestjs/common';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { Config } from '../../../src/platform/config/config.js';
import { Log } from '../../../src/platform/observability/logger.js';
import { TokenCauses } from '../../../src/modules/quotes/token-causes.js';
import { TransferOutlook, type Outlook } from '../../../src/modules/simulation/transfer-outlook.js';
import type { TestApi } from '../../support/api/factory.js';
import { openQuoteFixture, type QuoteFixture } from '../../support/api/quote-fixture.js';

const NEUTRAL = 'The call reverted without a reason.';
const ZERO = '0'.repeat(64);
const amountWord = (amount: number): string => amount.toString(16).padStart(64, '0');

let fixture: QuoteFixture;
let apis: Record<'strict' | 'paused' | 'orphaned', TestApi>;

beforeAll(async () => {
  fixture = await openQuoteFixture({ TRON_READ_TIMEOUT_MS: '20000' });
  const on = (token: string) => fixture.another({ TOKEN_CONTRACT: token });
  apis = { strict: await on(TOKENS.strict), paused: await on(TOKENS.paused), orphaned: await on(TOKENS.orphaned) };
});

afterAll(async () => {
  for (const api of Object.values(apis)) await api.close();
  await fixture.close();
});

afterEach(() => fixture.node.mend());

/** The operator's commands have the outlook; an API has its parts. */
function outlookOf({ app }: TestApi, sender: string): Promise<Outlook> {
  const part = <T>(type: Abstract<T> | (new (...args: never[]) => T)): T => app.get(type, { strict: false });
  return new TransferOutlook(part(TronClient), part(TokenCauses), part(Config), part(Log)).of(sender);
}

interface Call {
  readonly from: string;
  readonly name: 'transfer' | 'transferFrom' | 'approve';
  readonly words: string;
}

const TYPES = { transfer: 'address,uint256', transferFrom: 'address,address,uint256', approve: 'address,uint256' };
const SELECTORS = { transfer: 'a9059cbb', transferFrom: '23b872dd', approve: '095ea7b3' };

async function answerTo(at: keyof typeof apis, { from, name, words }: Call, isRaw = false, token = TOKENS[at]) {
  const call = isRaw
    ? { data: `0x${SELECTORS[name]}${words}` }
    : { function_selector: `${name}(${TYPES[name]})`, parameter: words };
  const body = { owner_address: from, contract_address: token, ...call };
  const answer = await fixture.customer.at(apis[at].baseUrl).post('/v1/simulate', body);
  expect(answer.status).toBe(200);
  return answer.body;
}

const transfer = (from: string, to: string, amount: number): Call => ({
  from,
  name: 'transfer',
  words: transferArgs(to, amount),
});
const transferFrom = (spender: string, from: string, to: string, amount: number): Call => ({
  from: spender,
  name: 'transferFrom',
  words: wordOfAddress(from) + transferArgs(to, amount),
});
const approve = (from: string, spender: string, amount: number): Call => ({
  from,
  name: 'approve',
  words: transferArgs(spender, amount),
});
const toZero = (from: string, amount: number): Call => ({ from, name: 'transfer', words: ZERO + amountWord(amount) });

const HELD = `${WHO.bob} holds 1000 of the token's smallest unit, less than the 1001 to be sent.`;
const ALLOWED = `${WHO.bank} allows the sender 5 of the token's smallest unit, less than the 6 to be sent.`;
const ZERO_REFUSED = 'The token refuses the zero address as recipient. Use another recipient.';
const PAUSED = 'The token is paused by its owner. Try again once it is unpaused.';

const CASES: readonly (readonly [string, keyof typeof apis, Call, string])[] = [
  [
    'too little is held',
    'strict',
    transfer(WHO.bob, newAddress(), 1001),
    `${HELD} Send it more of the token, or send less.`,
  ],
  [
    'too little is allowed',
    'strict',
    transferFrom(WHO.bob, WHO.bank, newAddress(), 6),
    `${ALLOWED} Have ${WHO.bank} approve the sender for at least that much.`,
  ],
  [
    'the owner of an allowance holds too little',
    'strict',
    transferFrom(WHO.bank, WHO.bob, newAddress(), 1001),
    `${HELD} Send it more of the token, or send less.`,
  ],
  [
    'the sender is blacklisted',
    'strict',
    transfer(WHO.carol, newAddress(), 1),
    `${WHO.carol} is on the token's blacklist. Send from another address.`,
  ],
  [
    'the owner of an allowance is blacklisted',
    'strict',
    transferFrom(WHO.bob, WHO.carol, newAddress(), 1),
    `${WHO.carol} is on the token's blacklist. Send from another address.`,
  ],
  ['the recipient is the zero address', 'strict', toZero(WHO.bob, 5), ZERO_REFUSED],
  ['the token is paused', 'paused', transfer(WHO.bob, newAddress(), 5), PAUSED],
  ['the token is paused while approving', 'paused', approve(WHO.bank, WHO.bob, 5), PAUSED],
  [
    'a deprecated token has no successor',
    'orphaned',
    transfer(WHO.bob, newAddress(), 5),
    `The token is deprecated, and its successor ${WHO.ghost} is not a contract. Ask the token's issuer for the token that replaces it.`,
  ],
  [
    'an allowance would replace another',
    'strict',
    approve(WHO.bob, WHO.carol, 4),
    'The spender already has an allowance of 3, and the token does not replace one allowance by another. Approve 0 first.',
  ],
];

describe.each([
  ['a function and its arguments', false],
  ['raw data', true],
])('a failing call as %s', (_form, isRaw) => {
  test.each(CASES)('names the cause: %s', async (_cause, at, call, reason) => {
    expect(await answerTo(at, call, isRaw)).toMatchObject({ would_fail: true, energy_needed: 0, reason });
  });
});

test('a blacklisted spender is no cause if the token checks only the owner', async () => {
  const body = await answerTo('strict', transferFrom(WHO.carol, WHO.bob, newAddress(), 3));
  expect(body).not.toHaveProperty('would_fail');
});

test.each([
  ['cut short', { ...transfer(WHO.bob, newAddress(), 1001), words: transferArgs(WHO.bob, 1001).slice(0, 126) }],
  ['of an amount that the sender has', { ...transfer(WHO.bob, newAddress(), 5), name: 'approve' as const }],
])('names nothing for a call %s', async (_, call) => {
  const body = await answerTo('strict', call);
  if (body.would_fail !== undefined) expect(body.reason).toBe(NEUTRAL);
});

test('names no cause of another token', async () => {
  const body = await answerTo('strict', transfer(WHO.bob, newAddress(), 1001), false, TOKENS.paused);
  expect(body).toMatchObject({ would_fail: true, reason: NEUTRAL });
});

test('leaves the token’s own reason unchanged', async () => {
  const call = { function_selector: 'transfer(address,uint256)', parameter: transferArgs(WHO.bob) };
  const { body } = await fixture.customer.post('/v1/simulate', {
    owner_address: WHO.carol,
    contract_address: WHO.token,
    ...call,
  });
  expect(body.reason).toBe('TRC20: transfer amount exceeds balance');
});

test.each<[string, keyof typeof apis, string, string]>([
  ['paused', 'paused', WHO.bob, PAUSED],
  ['blacklisted', 'strict', WHO.carol, `${WHO.carol} is on the token's blacklist. Send from another address.`],
  [
    'without the token',
    'strict',
    WHO.ghost,
    `${WHO.ghost} holds 0 of the token's smallest unit, less than the 1 to be sent. Send it more of the token, or send less.`,
  ],
])('the outlook of a sender gives the reason of a failing transfer: %s', async (_cause, at, sender, failure) => {
  expect(await outlookOf(apis[at], sender)).toEqual({ energyFeeSun: 100n, failure });
});

test('the outlook of a sender that can send names no failure', async () => {
  expect(await outlookOf(apis.strict, WHO.bob)).toEqual({ energyFeeSun: 100n, failure: undefined });
});
