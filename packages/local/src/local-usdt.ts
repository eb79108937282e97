// The local chain's token: behaves like USDT on the main net and uses the same energy. See contracts/LocalUsdt.sol for
// the behaviour and contracts/README.md for the figures.
import { addressToHex } from '../../../src/platform/chain/address.js';
import { namedChainAccount, type ChainAccount } from './chain-account.js';
import {
  LOCAL_USDT_ABI,
  LOCAL_USDT_BYTECODE,
  LOCAL_USDT_SUCCESSOR_ABI,
  LOCAL_USDT_SUCCESSOR_BYTECODE,
} from './local-usdt-code.js';

/** Dynamic energy factor of main-net USDT, whose usage never falls below the threshold: +340 %. */
const LOCAL_USDT_FACTOR = 34_000;
/** Ten billion tokens, in millionths. */
const SUPPLY = 10n ** 16n;

export interface LocalUsdtOptions {
  /** Address of the token. */
  readonly address: string;
  /** Account that receives the whole supply. */
  readonly holder: string;
  /** Account with the owner's powers; default `localUsdtOwner`. It pays for its transactions, so it needs TRX. */
  readonly owner?: ChainAccount;
  /** Address of the successor token; default `localUsdtSuccessor`. */
  readonly successor?: string;
  /** Dynamic energy factor; default that of the main net. */
  readonly energyFactor?: number;
}

export const localUsdtOwner = namedChainAccount('local-token-owner');
export const localUsdtSuccessor = namedChainAccount('local-token-successor').address;

/** Returns contracts for a genesis file: the token with a fixed energy factor, and its possible successor. */
export function localUsdtContracts(options: LocalUsdtOptions): readonly object[] {
  const { address, holder, owner = localUsdtOwner, successor = localUsdtSuccessor } = options;
  return [
    {
      address,
      origin: owner.address,
      owner_key: owner.privateKey.toString('hex'),
      energy_factor: options.energyFactor ?? LOCAL_USDT_FACTOR,
      name: 'LocalUsdt',
      bytecode: LOCAL_USDT_BYTECODE,
      constructor: SUPPLY.toString(16).padStart(64, '0') + wordOf(holder),
      abi: LOCAL_USDT_ABI,
    },
    {
      address: successor,
      origin: owner.address,
      name: 'LocalUsdtSuccessor',
      bytecode: LOCAL_USDT_SUCCESSOR_BYTECODE,
      constructor: wordOf(address),
      abi: LOCAL_USDT_SUCCESSOR_ABI,
    },
  ];
}

function wordOf(address: string): string {
  return addressToHex(address).slice(2).padStart(64, '0');
}
