// The token of the local chain: behaves like USDT on the main net and uses the same energy. contracts/LocalUsdt.sol
// says how; contracts/README.md lists the figures.
import { addressToHex } from '../../../src/chain/address.js';
import { namedChainAccount, type ChainAccount } from './chain-account.js';
import {
  LOCAL_USDT_ABI,
  LOCAL_USDT_BYTECODE,
  LOCAL_USDT_SUCCESSOR_ABI,
  LOCAL_USDT_SUCCESSOR_BYTECODE,
} from './local-usdt-code.js';

/** The dynamic energy factor that main-net USDT has had since its use never falls below the threshold: +340 %. */
const LOCAL_USDT_FACTOR = 34_000;
/** Ten billion, in millionths. */
const SUPPLY = 10n ** 16n;

export interface LocalUsdtOptions {
  /** The address of the token. */
  readonly address: string;
  /** The account that gets the whole supply. */
  readonly holder: string;
  /** The account with the owner's powers; `localUsdtOwner` unless given. It pays for its acts, so it needs TRX. */
  readonly owner?: ChainAccount;
  /** The address of the token that can take over; `localUsdtSuccessor` unless given. */
  readonly successor?: string;
  /** The dynamic energy factor; that of the main net unless given. */
  readonly energyFactor?: number;
}

export const localUsdtOwner = namedChainAccount('local-token-owner');
export const localUsdtSuccessor = namedChainAccount('local-token-successor').address;

/** Returns the contracts of a genesis file: the token, whose factor is held, and a token that can take over from it. */
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
