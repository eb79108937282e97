// The local chain with the accounts and the token of test/tron-node/recorded.json at their own addresses. Tests repeat
// the recorded requests to a real node word for word and expect the same figures.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { addressFromBytes, addressToHex } from '../../../src/platform/chain/address.js';
import { keccak256 } from '../../../packages/devnet/src/address.js';
import { strictTokenCode, strictTokenStorage, type StrictTokenState } from '../../devnet/contracts/strict-token.js';
import { tokenCode, type TokenRules } from '../../devnet/contracts/tokens.js';
import { startDevnet } from '../../setup/devnet.js';
import { confirmedAct, newOwner, stake } from './order-chain.js';

export interface Recorded {
  readonly step: string;
  readonly request: Readonly<Record<string, string | number | boolean>>;
  readonly response: {
    readonly energy_used?: number;
    readonly energy_penalty?: number;
    readonly constant_result?: readonly string[];
    readonly result?: { readonly code?: string };
    readonly transaction?: { readonly ret: readonly { readonly ret?: string }[] };
  };
}

const { steps } = JSON.parse(readFileSync('test/tron-node/recorded.json', 'utf8')) as {
  readonly steps: readonly Recorded[];
};

/** Returns one recorded constant call by its name after `call: `. */
export function recordedCall(name: string): Recorded {
  const found = steps.find(({ step }) => step === `call: ${name}`);
  if (found === undefined) throw new Error(`nothing recorded: ${name}`);
  return found;
}

const senderOf = (name: string): string => String(recordedCall(name).request['owner_address']);

export const WHO = {
  /** Deployed the token and holds nearly all of it. */
  bank: senderOf('transfer to a new holder'),
  /** Holds a million of it. */
  bob: String(recordedCall('a plain account as contract').request['contract_address']),
  /** On chain, without tokens; holds 1 TRX. */
  carol: senderOf('value beyond balance'),
  /** Not on chain. */
  ghost: senderOf('sender does not exist, with value'),
  token: String(recordedCall('payable').request['contract_address']),
} as const;

/** Tokens beside the recorded one. The bank holds them. */
export const TOKENS = {
  /** Answers 0 to a transfer that succeeds, as main-net USDT does. */
  quiet: newAddress(),
  /** Answers 1 to a transfer that moves nothing and emits no event. */
  boasting: newAddress(),
  /** Revert without a reason, each in its own state: see `strictTokens`. */
  strict: newAddress(),
  paused: newAddress(),
  orphaned: newAddress(),
  taxed: newAddress(),
  /** Its deployer, who also holds it, may pay a part of each call's energy. */
  shared: newAddress(),
} as const;

/** Returns a random unused address. */
export function newAddress(): string {
  return addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(20)]));
}

const word = (hex: string): string => hex.padStart(64, '0');

export function wordOfAddress(address: string): string {
  return word(addressToHex(address).slice(2));
}

/** Returns the ABI arguments of transfer(to, amount). */
export function transferArgs(to: string, amount = 5): string {
  return wordOfAddress(to) + word(amount.toString(16));
}

/** Returns the storage slot of a balance: `balanceOf` is the token's first variable. */
function balanceSlot(address: string): string {
  return Buffer.from(keccak256(Buffer.from(wordOfAddress(address) + word('0'), 'hex'))).toString('hex');
}

const hex20 = (address: string): string => addressToHex(address).slice(2);

/** Bob holds 1000. Carol holds 500 and is blacklisted. The bank lets Bob spend 5, and Bob lets Carol spend 3. */
function strictTokens() {
  const [bank, bob, carol] = [WHO.bank, WHO.bob, WHO.carol].map(hex20) as [string, string, string];
  const base: StrictTokenState = {
    balances: { [bob]: 1000, [carol]: 500 },
    blacklisted: [carol],
    allowances: [
      { owner: bank, spender: bob, amount: 5 },
      { owner: bob, spender: carol, amount: 3 },
    ],
  };
  const at = (address: string, settings: StrictTokenState['settings'] = {}) => ({
    address,
    origin: WHO.bank,
    name: 'Token',
    bytecode: strictTokenCode(),
    storage: strictTokenStorage({ ...base, settings }),
  });
  return [
    at(TOKENS.strict),
    at(TOKENS.paused, { paused: 1 }),
    at(TOKENS.orphaned, { deprecated: 1, upgradedAddress: BigInt(`0x${hex20(WHO.ghost)}`) }),
    at(TOKENS.taxed, { basisPointsRate: 10, maximumFee: 1_000_000 }),
  ];
}

function tokenAt(address: string, rules: TokenRules) {
  return { address, origin: WHO.bank, name: 'Token', bytecode: tokenCode(rules) };
}

export interface QuoteChain {
  readonly fullUrl: string;
  readonly solidUrl: string;
  /** Sets chain parameters, as a maintenance period would. */
  readonly setParameters: (parameters: Readonly<Record<string, number>>) => Promise<void>;
  /** Sets the token's dynamic energy factor in 1/10 000. */
  readonly setEnergyFactor: (factor: number) => Promise<void>;
  /** The deployer of `TOKENS.shared`. */
  readonly deployer: string;
  /** Sets the callers' share of `TOKENS.shared` calls in percent, and the deployer's energy limit per call. */
  readonly shareEnergy: (callerPercent: number, limit: number) => Promise<void>;
  /** Sends some of `TOKENS.shared` from its deployer. */
  readonly giveShared: (to: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const ONE_TRX = '1000000';
/** Without any stake the network has no ratio of stake to energy, and nothing can be sold. */
const STAKED_SUN = 1_000_000_000_000_000n;

/** Starts the chain in its own process, from dist (which `npm test` builds). */
export async function startQuoteChain(): Promise<QuoteChain> {
  const { bytecode } = JSON.parse(await readFile('test/tron-node/bytecode.json', 'utf8')) as { bytecode: string };
  const staker = newOwner();
  const genesis = {
    accounts: [
      { address: staker.address, balance: (STAKED_SUN + 1000_000_000n).toString() },
      { address: WHO.bank, balance: '90000000000000000' },
      { address: WHO.bob, balance: ONE_TRX },
      { address: WHO.carol, balance: ONE_TRX },
    ],
    contracts: [
      {
        address: WHO.token,
        origin: WHO.bank,
        name: 'Token',
        bytecode,
        storage: { [balanceSlot(WHO.bob)]: word((1_000_000).toString(16)) },
      },
      tokenAt(TOKENS.quiet, { answers: 0 }),
      tokenAt(TOKENS.boasting, { moves: false, emits: false }),
      ...strictTokens(),
      { ...tokenAt(TOKENS.shared, {}), origin: staker.address },
    ],
  };
  const { fullUrl: full, solidUrl, control, stop } = await startDevnet({ genesis, blockMs: 500, solidLag: 3 });
  await stake(full, staker, STAKED_SUN);
  return {
    fullUrl: full,
    solidUrl,
    setParameters: async (parameters) => {
      await control('parameters', parameters);
    },
    setEnergyFactor: async (factor) => {
      await control('contract', { address: WHO.token, energy_factor: factor });
    },
    deployer: staker.address,
    shareEnergy: async (callerPercent, limit) => {
      const contract = { contract_address: TOKENS.shared };
      await confirmedAct(full, staker, 'updatesetting', { ...contract, consume_user_resource_percent: callerPercent });
      await confirmedAct(full, staker, 'updateenergylimit', { ...contract, origin_energy_limit: limit });
    },
    giveShared: (to) =>
      confirmedAct(full, staker, 'triggersmartcontract', {
        contract_address: TOKENS.shared,
        function_selector: 'transfer(address,uint256)',
        parameter: transferArgs(to, 1_000_000),
        fee_limit: 100_000_000,
      }),
    stop,
  };
}
