/** Reads the state of a TRC20 token and its holders by constant calls on the head's state. */
import { BALANCE_OF, addressWord, firstWord } from '../../domain/sizing.js';
import { addressFromHex, addressToHex } from './address.js';
import type { CallOutcome } from './contract-call.js';
import type { TronClient } from './tron.client.js';

/** A node did not run a call, which proves nothing about the token. */
export class NotRunError extends Error {
  override readonly name = 'NotRunError';
}

/** Returns the outcome. Throws NotRunError when the node itself failed to run the call. */
export function assertRun(outcome: CallOutcome): CallOutcome {
  if (outcome.kind === 'refused' && outcome.refusal !== 'no-contract') {
    throw new NotRunError(`the node did not run the call: ${outcome.message.slice(0, 200)}`);
  }
  return outcome;
}

/** Names of the blacklist getter in dollar tokens. */
const BLACKLISTS = ['isBlackListed(address)', 'isBlacklisted(address)'] as const;
const WORD = /^[0-9a-f]{64}$/i;
const BASIS_POINTS = 10_000n;

/**
 * Every read returns undefined where the token has no such function. It throws ChainUnavailableError or NotRunError
 * when no node ran the call.
 */
export class TokenReads {
  constructor(
    private readonly client: TronClient,
    readonly token: string,
  ) {}

  /** Calls from the holder itself, as wallets do. The holder need not be on chain. */
  async balanceOf(address: string): Promise<bigint | undefined> {
    const outcome = await this.call(BALANCE_OF, [address], address);
    return outcome.kind === 'success' ? firstWord(outcome.result) : undefined;
  }

  async allowance(owner: string, spender: string): Promise<bigint | undefined> {
    return this.word('allowance(address,address)', owner, spender);
  }

  async isPaused(): Promise<boolean | undefined> {
    return isSet(await this.word('paused()'));
  }

  async isBlacklisted(address: string): Promise<boolean | undefined> {
    for (const getter of BLACKLISTS) {
      const said = await this.word(getter, address);
      if (said !== undefined) return isSet(said);
    }
    return undefined;
  }

  async isDeprecated(): Promise<boolean | undefined> {
    return isSet(await this.word('deprecated()'));
  }

  /** Returns the successor that a deprecated token forwards to. */
  async successor(): Promise<string | undefined> {
    if ((await this.isDeprecated()) !== true) return undefined;
    const said = await this.word('upgradedAddress()');
    return said === undefined ? undefined : addressFromHex(`41${said.toString(16).padStart(40, '0').slice(-40)}`);
  }

  /** Returns the smallest transfer amount that is charged a token fee; 1 if the token charges none. */
  async leastAmountWithFee(): Promise<bigint> {
    const rate = await this.word('basisPointsRate()');
    if (rate === undefined || rate <= 0n || rate >= BASIS_POINTS) return 1n;
    if ((await this.word('maximumFee()')) === 0n) return 1n;
    const least = (BASIS_POINTS + rate - 1n) / rate;
    return least > 2n ? least : 2n;
  }

  private async word(selector: string, ...addresses: readonly string[]): Promise<bigint | undefined> {
    const outcome = await this.call(selector, addresses, this.token);
    return outcome.kind === 'success' && WORD.test(outcome.result) ? BigInt(`0x${outcome.result}`) : undefined;
  }

  private async call(functionSelector: string, addresses: readonly string[], ownerAddress: string) {
    const parameter = addresses.map((address) => addressWord(addressToHex(address))).join('');
    const call = { ownerAddress, contractAddress: this.token, functionSelector };
    return assertRun(await this.client.simulate(parameter === '' ? call : { ...call, parameter }));
  }
}

function isSet(word: bigint | undefined): boolean | undefined {
  return word === undefined ? undefined : word !== 0n;
}
