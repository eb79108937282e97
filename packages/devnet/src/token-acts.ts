// Transactions of a token's owner, signed by the owner's key: pause, blacklist, fees, … The function signatures are
// those of main-net USDT.
import secp256k1 from 'secp256k1';
import { addressOfKey, base58OfHex, keccak256 } from './address.js';
import { stamped } from './builders.js';
import {
  FACTOR_MAX,
  type OwnedToken,
  contractAt,
  energyStateAt,
  energyStateEntry,
  ownedTokensAt,
} from './contract-store.js';
import { runConstant } from './contract-calls.js';
import type { Handler } from './http.js';
import { type Json, type JsonNode, integerOf, member, textOf } from './json.js';
import { looseAddress } from './json-format.js';
import type { NodeView } from './node-view.js';
import { type Tx, buildTx, packTx, unpackTx } from './transactions.js';

const FEE_LIMIT = 1_000_000_000n;
const AMOUNT_MAX = 2n ** 63n - 1n;

/** Returns the member `name` as an address in hex. Throws if it is missing or no address. */
export function addressFrom(body: JsonNode, name: string): string {
  const spelled = textOf(member(body, name)) ?? '';
  const hex = looseAddress(body, name, !/^41[0-9a-fA-F]{40}$/.test(spelled));
  if (hex === undefined) throw new Error(`${name}: a TRON address is needed`);
  return hex.toLowerCase();
}

function numberFrom(body: JsonNode, name: string, min: bigint, max: bigint): bigint {
  const value = integerOf(member(body, name));
  if (value === undefined || value < min || value > max)
    throw new RangeError(`${name}: a whole number from ${String(min)} to ${String(max)} is needed`);
  return value;
}

function addressWord(hex: string): string {
  return hex.slice(2).padStart(64, '0');
}

function numberWord(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

interface Act {
  readonly signature: string;
  readonly parameter: (body: JsonNode) => string;
  /** Likely reason for a refusal; the token itself gives none. */
  readonly refusal: string;
}

const none = (): string => '';
const holder = (body: JsonNode): string => addressWord(addressFrom(body, 'holder'));
const amount = (body: JsonNode): string => numberWord(numberFrom(body, 'amount', 1n, AMOUNT_MAX));

const ACTS: Readonly<Record<string, Act>> = {
  pause: { signature: 'pause()', parameter: none, refusal: 'it is paused already' },
  unpause: { signature: 'unpause()', parameter: none, refusal: 'it is not paused' },
  blacklist: { signature: 'addBlackList(address)', parameter: holder, refusal: 'the key is not its owner’s' },
  unblacklist: { signature: 'removeBlackList(address)', parameter: holder, refusal: 'the key is not its owner’s' },
  destroy: {
    signature: 'destroyBlackFunds(address)',
    parameter: holder,
    refusal: 'the holder is not blacklisted, or the supply is smaller than the holder’s balance',
  },
  fees: {
    signature: 'setParams(uint256,uint256)',
    // The token refuses 20 basis points and more, and 50 whole tokens and more.
    parameter: (body) =>
      numberWord(numberFrom(body, 'basis_points', 0n, 19n)) + numberWord(numberFrom(body, 'max_fee', 0n, 49n)),
    refusal: 'the key is not its owner’s',
  },
  issue: { signature: 'issue(uint256)', parameter: amount, refusal: 'the supply would be too large' },
  redeem: { signature: 'redeem(uint256)', parameter: amount, refusal: 'its owner holds less' },
  deprecate: {
    signature: 'deprecate(address)',
    parameter: (body) => addressWord(addressFrom(body, 'successor')),
    refusal: 'the successor is the zero address, or the key is not its owner’s',
  },
};

/** Returns the token of a request: the named one, or the only one. Throws RangeError that lists the tokens. */
function tokenOf(view: NodeView, body: JsonNode): OwnedToken {
  const tokens = ownedTokensAt(view.chain.store);
  const names = tokens.map(({ address }) => base58OfHex(address)).join(', ');
  if (member(body, 'contract') === undefined) {
    const [only] = tokens;
    if (only === undefined)
      throw new RangeError('genesis gives no contract an owner_key, so no token has an owner here');
    if (tokens.length > 1) throw new RangeError(`contract: name one of ${names}`);
    return only;
  }
  const address = addressFrom(body, 'contract');
  const found = tokens.find((token) => token.address === address);
  if (found === undefined) throw new RangeError(`contract: genesis gives an owner_key to none but ${names}`);
  return found;
}

function dataOf(signature: string, parameter: string): string {
  const selector = Buffer.from(keccak256(Buffer.from(signature, 'utf8'))).subarray(0, 4);
  return selector.toString('hex') + parameter;
}

function signed(tx: Tx, key: string): Tx {
  const { signature, recid } = secp256k1.ecdsaSign(Buffer.from(tx.id, 'hex'), Buffer.from(key, 'hex'));
  const bytes = Buffer.concat([Buffer.from(signature), Buffer.from([27 + recid])]);
  return unpackTx({ ...packTx(tx), signatures: [bytes.toString('latin1')] });
}

/** Includes the transaction in a block of its own. If the token would refuse it, throws before anything is sent. */
async function carryOut(view: NodeView, body: JsonNode, name: string, act: Act): Promise<Json> {
  const { chain } = view;
  const token = tokenOf(view, body);
  const message = {
    owner_address: addressOfKey(token.key),
    contract_address: token.address,
    data: dataOf(act.signature, act.parameter(body)),
  };
  const tried = await runConstant(view, view.read(false), false, message, '00'.repeat(32)).catch(() => undefined);
  if (tried?.result !== 'SUCCESS') throw new Error(`${name}: the token refuses it; likely ${act.refusal}`);
  const tx = signed(buildTx('TriggerSmartContract', message, 0, stamped(view, { fee_limit: FEE_LIMIT })), token.key);
  await chain.broadcast(tx);
  await chain.mine();
  const included = chain.included.get(tx.id);
  const result = included?.receipt.contractRet;
  if (included === undefined || result !== 'SUCCESS')
    throw new Error(`${name}: transaction ${tx.id} failed: ${result ?? 'it is in no block'}`);
  return { txID: tx.id, blockNumber: included.block };
}

/** Fixes the token's dynamic energy factor. The factor is chain state, so no transaction can set it. */
async function setFactor(view: NodeView, body: JsonNode): Promise<Json> {
  const { chain } = view;
  const { address } = tokenOf(view, body);
  const factor = numberFrom(body, 'energy_factor', 0n, FACTOR_MAX);
  const now = energyStateAt(chain.store, address, chain.cycle);
  await chain.setValue(energyStateEntry(address, { ...now, factor, isHeld: true }));
  return { energy_factor: factor };
}

/** Prints the state that owner transactions change. Throws for a contract that is no such token. */
async function printToken(view: NodeView, body: JsonNode): Promise<Json> {
  const { chain } = view;
  const { address, key } = tokenOf(view, body);
  const read = async (signature: string): Promise<string> => {
    const message = { owner_address: addressOfKey(key), contract_address: address, data: dataOf(signature, '') };
    const { result, output } = await runConstant(view, view.read(false), false, message, '00'.repeat(32));
    if (result !== 'SUCCESS' || output === '') throw new Error(`${base58OfHex(address)} does not answer ${signature}`);
    return output;
  };
  const number = async (signature: string): Promise<bigint> => BigInt(`0x${await read(signature)}`);
  const account = async (signature: string): Promise<string> => base58OfHex(`41${(await read(signature)).slice(-40)}`);
  const isDeprecated = (await number('deprecated()')) === 1n;
  return {
    contract: base58OfHex(address),
    name: contractAt(chain.store, address)?.name,
    owner: await account('owner()'),
    paused: (await number('paused()')) === 1n,
    basis_points: await number('basisPointsRate()'),
    maximum_fee: await number('maximumFee()'),
    total_supply: await number('totalSupply()'),
    deprecated: isDeprecated,
    ...(isDeprecated ? { successor: await account('upgradedAddress()') } : {}),
    energy_factor: energyStateAt(chain.store, address, chain.cycle).factor,
  };
}

/** Returns the control port's handlers for owner transactions, by path. */
export function tokenHandlers(view: NodeView): Record<string, Handler> {
  const acts = Object.entries(ACTS).map(([name, act]): [string, Handler] => [
    `token/${name}`,
    ({ body }) => carryOut(view, body, name, act),
  ]);
  return {
    token: ({ body }) => printToken(view, body),
    'token/factor': ({ body }) => setFactor(view, body),
    ...Object.fromEntries(acts),
  };
}
