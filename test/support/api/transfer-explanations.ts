// Token transfers of rented wallets on the local chain, and their explanations by API and command line.
import { api, customer, devnet, env, mine, nextCaller, token, tokenHolder } from '../worker/fulfilment-fixture.js';
import { actAs, type Owner } from '../chain/order-chain.js';
import { cliWith, type CliResult } from '../cli.js';
import { makeCustomer } from './factory.js';
import { newAddress, transferArgs } from '../chain/quote-chain.js';
import { HmacCustomer, type Answer, type Customer } from './client.js';

/** Energy of a transfer to a holder and to another address, at the main net's factor. */
export const [TO_HOLDER, TO_OTHER] = [64_285, 130_285];
const FUNDS = 1_000_000;
const FEE_LIMIT = 100_000_000;
export const NEVER_SENT = 'ab'.repeat(32);

export interface Sending {
  readonly amount?: number;
  readonly feeLimit?: number;
  readonly contract?: string;
  readonly selector?: string;
  readonly parameter?: string;
}

/** Broadcasts a token transfer without making a block. Returns its id. */
export async function broadcast(from: Owner, to: string, sending: Sending = {}): Promise<string> {
  return actAs(devnet.fullUrl, from, 'triggersmartcontract', {
    contract_address: sending.contract ?? token,
    function_selector: sending.selector ?? 'transfer(address,uint256)',
    parameter: sending.parameter ?? transferArgs(to, sending.amount ?? 5),
    fee_limit: sending.feeLimit ?? FEE_LIMIT,
  });
}

/** Sends tokens in the next block. Returns the id. */
export async function send(from: Owner, to: string, sending: Sending = {}): Promise<string> {
  const txid = await broadcast(from, to, sending);
  await mine();
  return txid;
}

/** Returns an account with TRX and tokens, and without rentals. */
export async function nextHolder(): Promise<Owner> {
  const owner = nextCaller();
  await send(tokenHolder, owner.address, { amount: FUNDS });
  return owner;
}

/** Sends TRX, with a memo if one is given. Returns the id. */
export async function sendTrx(from: Owner, to: string, memo?: string): Promise<string> {
  const body = { to_address: to, amount: 1_000_000, ...(memo !== undefined && { extra_data: memo }) };
  const txid = await actAs(devnet.fullUrl, from, 'createtransaction', body);
  await mine();
  return txid;
}

/** The route accepts HMAC only. */
const byHmac = ({ baseUrl, merchant, apiKey }: Customer): HmacCustomer => new HmacCustomer(baseUrl, merchant, apiKey);

export const explain = (txid: string, by: Customer = customer): Promise<Answer> =>
  byHmac(by).get(`/v1/explain/${txid}`);

/** Returns the explanation, which must exist. */
export async function explained(txid: string): Promise<Answer['body']> {
  const { status, body } = await explain(txid);
  expect([status, body]).toEqual([200, expect.objectContaining({ txid })]);
  return body;
}

/** Returns the codes of the causes, in their order. */
export async function codesOf(txid: string): Promise<readonly string[]> {
  const { causes } = (await explained(txid)) as { causes: readonly { code: string }[] };
  return causes.map(({ code }) => code);
}

export const explainByCli = (...args: string[]): Promise<CliResult> => cliWith(env)('explain-transfer', ...args);

/** Another project of the service. */
export const stranger = () => makeCustomer(api);
export { newAddress };
