// Parses a genesis file with precise error messages, and fills the initial state from it.
import { readFileSync } from 'node:fs';
import { type Account, accountAt, newAccount, putAccount } from './accounts.js';
import { hexOfBase58, isPrivateKey, keccak256, sha256Hex } from './address.js';
import { TOKEN_ID_MIN, addAsset, hasAsset, putAsset } from './assets.js';
import { genesisBlock, producersOf } from './block.js';
import { installBlockHashHistory } from './block-hash-history.js';
import { BLOCK_STEP_MS, Chain, type ChainOptions } from './chain.js';
import { FACTOR_MAX, addOwnedToken, codeAt, energyStateEntry, putContract, slotKey } from './contract-store.js';
import { runVm } from './evm.js';
import { type JsonNode, member, readJson, textOf } from './json.js';
import { mergeJson } from './json-format.js';
import {
  LATEST,
  VERSIONS,
  type Version,
  defaultParameters,
  energyPricesEntry,
  parametersEntry,
  versionEntry,
} from './parameters.js';
import type { Message } from './schema.js';
import { keep } from './vm-transactions.js';
import { vmRulesAt } from './vm-rules.js';
import { addGenesisWitnesses } from './witnesses.js';

const ACCOUNTS_MAX = 200_000;
const CONTRACTS_MAX = 1_000;
const ASSETS_MAX = 1_000;
const SUN_MAX = (1n << 63n) - 1n;
const GENESIS_ENERGY = 1_000_000_000n;
/** Time for a constructor at genesis: main net's limit for a transaction. */
const GENESIS_CPU_MS = 80n;

export interface GenesisContract {
  readonly address: string;
  readonly origin: string;
  readonly name: string;
  readonly code: string;
  readonly abi: Message;
  readonly storage: readonly (readonly [string, string])[];
  /** Fixed dynamic energy factor; undefined if usage determines the factor. */
  readonly energyFactor: bigint | undefined;
  /** Private key of the owner's account, 64 hex characters; for owner transactions by the control port. */
  readonly ownerKey: string | undefined;
}
export interface Genesis {
  /** The version of java-tron that the chain behaves like. */
  readonly version: Version;
  /** Time of block 1, ms; undefined if the file has none. */
  readonly timestamp: number | undefined;
  readonly accounts: readonly { readonly address: string; readonly balance: bigint }[];
  readonly parameters: Readonly<Record<string, bigint>>;
  readonly contracts: readonly GenesisContract[];
  /** TRC10 tokens, fully issued. */
  readonly assets: readonly {
    readonly id: string;
    readonly name: string;
    readonly balances: readonly (readonly [string, bigint])[];
  }[];
  readonly source: string;
}

/** An invalid genesis file; the message gives place and reason. */
class GenesisError extends Error {}

function bad(where: string, why: string): never {
  throw new GenesisError(`genesis ${where}: ${why}`);
}

function items(node: JsonNode | undefined, where: string, max: number): readonly JsonNode[] {
  if (node === undefined) return [];
  if (node.kind !== 'array') return bad(where, 'must be a list');
  if (node.items.length > max) return bad(where, `at most ${String(max)} entries`);
  return node.items;
}

function addressIn(node: JsonNode, name: string, where: string): string {
  const given = textOf(member(node, name));
  if (given === undefined) return bad(`${where}.${name}`, 'is missing');
  return hexOrBad(given, `${where}.${name}`);
}

function hexOrBad(given: string, where: string): string {
  if (/^41[0-9a-fA-F]{40}$/.test(given)) return given.toLowerCase();
  let hex: string | null;
  try {
    hex = hexOfBase58(given);
  } catch {
    hex = null;
  }
  return hex ?? bad(where, `${given} is no TRON address (base58check, or 42 hex characters beginning with 41)`);
}

function amountIn(node: JsonNode, name: string, where: string): bigint {
  const given = textOf(member(node, name));
  if (given === undefined) return bad(`${where}.${name}`, 'is missing');
  if (!/^[0-9]+$/.test(given)) return bad(`${where}.${name}`, `${given} is no whole number of 0 or more`);
  const value = BigInt(given);
  return value > SUN_MAX ? bad(`${where}.${name}`, 'is more than 2^63 - 1') : value;
}

function hexIn(node: JsonNode, name: string, where: string): string {
  const given = (textOf(member(node, name)) ?? '').replace(/^0x/, '');
  if (!/^([0-9a-fA-F]{2})*$/.test(given)) return bad(`${where}.${name}`, 'is no hex');
  return given.toLowerCase();
}

function contractIn(node: JsonNode, i: number): GenesisContract {
  const where = `contracts[${String(i)}]`;
  if (node.kind !== 'object') return bad(where, 'must be an object');
  const origin = addressIn(node, 'origin', where);
  const bytecode = hexIn(node, 'bytecode', where);
  if (bytecode === '') return bad(`${where}.bytecode`, 'is missing');
  const own = sha256Hex(Buffer.from(`devnet contract ${String(i)}`)).slice(0, 40);
  const abi = member(node, 'abi');
  const entries =
    abi?.kind === 'array' ? { kind: 'object' as const, at: 0, raw: '', fields: new Map([['entrys', abi]]) } : abi;
  const storage = member(node, 'storage');
  return {
    address: member(node, 'address') === undefined ? `41${own}` : addressIn(node, 'address', where),
    origin,
    name: textOf(member(node, 'name')) ?? '',
    code: bytecode + hexIn(node, 'constructor', where),
    abi: entries === undefined ? {} : mergeJson('ABI', entries, '', false),
    storage: storage?.kind === 'object' ? [...storage.fields].map(([slot, value]) => slotIn(slot, value, where)) : [],
    energyFactor: member(node, 'energy_factor') === undefined ? undefined : factorIn(node, where),
    ownerKey: member(node, 'owner_key') === undefined ? undefined : keyIn(node, where),
  };
}

function factorIn(node: JsonNode, where: string): bigint {
  const factor = amountIn(node, 'energy_factor', where);
  return factor > FACTOR_MAX ? bad(`${where}.energy_factor`, `must be at most ${String(FACTOR_MAX)}`) : factor;
}

function keyIn(node: JsonNode, where: string): string {
  const key = hexIn(node, 'owner_key', where);
  if (!isPrivateKey(key)) return bad(`${where}.owner_key`, 'is no private key of 64 hex characters');
  return key;
}

function slotIn(slot: string, value: JsonNode, where: string): readonly [string, string] {
  const key = slot.replace(/^0x/, '');
  const word = (textOf(value) ?? '').replace(/^0x/, '').replace(/^(00)+/, '');
  if (!/^[0-9a-fA-F]{1,64}$/.test(key) || !/^([0-9a-fA-F]{2}){0,32}$/.test(word))
    return bad(`${where}.storage`, `${slot} is no pair of hex words`);
  return [key.toLowerCase().padStart(64, '0'), word.toLowerCase()];
}

function assetIn(node: JsonNode, i: number): Genesis['assets'][number] {
  const where = `assets[${String(i)}]`;
  if (node.kind !== 'object') return bad(where, 'must be an object');
  const id = amountIn(node, 'id', where);
  if (id <= TOKEN_ID_MIN) bad(`${where}.id`, `must be above ${String(TOKEN_ID_MIN)}`);
  const balances = member(node, 'balances');
  if (balances?.kind !== 'object') return bad(`${where}.balances`, 'must be an object of amounts by address');
  const held = [...balances.fields.keys()].map((holder) => {
    const hex = hexOrBad(holder, `${where}.balances`);
    return [hex, amountIn(balances, holder, `${where}.balances`)] as const;
  });
  return { id: String(id), name: textOf(member(node, 'name')) ?? '', balances: held };
}

/** Returns the `version`, by default the newest. */
function versionIn(root: JsonNode): Version {
  const given = textOf(member(root, 'version')) ?? LATEST;
  return VERSIONS.find((one) => one === given) ?? bad('version', `${given} is none of ${VERSIONS.join(', ')}`);
}

/** Parses a genesis from JSON text. Throws GenesisError. */
export function parseGenesis(source: string): Genesis {
  let root: JsonNode;
  try {
    root = readJson(source);
  } catch (error) {
    return bad('file', `is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (root.kind !== 'object') return bad('file', 'must be a JSON object');
  const accounts = items(member(root, 'accounts'), 'accounts', ACCOUNTS_MAX).map((node, i) => {
    const where = `accounts[${String(i)}]`;
    return { address: addressIn(node, 'address', where), balance: amountIn(node, 'balance', where) };
  });
  if (accounts.length === 0) return bad('accounts', 'at least one account is needed');
  if (new Set(accounts.map((a) => a.address)).size !== accounts.length) bad('accounts', 'an address appears twice');
  if (accounts.reduce((sum, a) => sum + a.balance, 0n) > SUN_MAX) bad('accounts', 'balances sum to more than 2^63 - 1');
  const version = versionIn(root);
  const given = member(root, 'parameters');
  if (given !== undefined && given.kind !== 'object') bad('parameters', 'must be an object');
  const parameters: Record<string, bigint> = {};
  if (given?.kind === 'object')
    for (const name of given.fields.keys()) {
      if (defaultParameters(version)[name] === undefined)
        bad(`parameters.${name}`, `is no chain parameter of java-tron ${version}`);
      parameters[name] = amountIn(given, name, 'parameters');
    }
  const contracts = items(member(root, 'contracts'), 'contracts', CONTRACTS_MAX).map(contractIn);
  const assets = items(member(root, 'assets'), 'assets', ASSETS_MAX).map(assetIn);
  const time = member(root, 'timestamp');
  const timestamp = time === undefined ? undefined : Number(amountIn(root, 'timestamp', 'file'));
  if (timestamp !== undefined && (timestamp < BLOCK_STEP_MS || timestamp > 8.64e15 / 2))
    bad('timestamp', 'is out of range (ms)');
  return { version, timestamp, accounts, parameters, contracts, assets, source };
}

export function readGenesis(file: string): Genesis {
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch (error) {
    return bad(file, error instanceof Error ? error.message : String(error));
  }
  return parseGenesis(source);
}

/** Creates a chain with block 0 from `genesis` and the empty block 1. */
export async function chainFrom(genesis: Genesis, options: ChainOptions): Promise<Chain> {
  const chain = new Chain(options, genesisBlock(options.seed, contentOf(genesis), genesis.version));
  const { store } = chain;
  store.put(...versionEntry(genesis.version));
  store.put(...parametersEntry({ ...defaultParameters(genesis.version), ...genesis.parameters }));
  store.put(...energyPricesEntry(`0:${String(genesis.parameters['getEnergyFee'] ?? 100n)}`));
  for (const { address, balance } of genesis.accounts) {
    const account: Account = { ...newAccount(address, 'genesis', 0n), balance };
    putAccount(store, account);
  }
  addGenesisWitnesses(store, producersOf(options.seed));
  store.put(...chain.maintenanceFrom(1n, chain.genesisMs));
  installBlockHashHistory(store);
  for (const [i, contract] of genesis.contracts.entries()) await deploy(chain, contract, i);
  for (const [i, asset] of genesis.assets.entries()) issue(chain, asset, i);
  chain.begin();
  await chain.mine();
  return chain;
}

function contentOf(genesis: Genesis): string {
  const accounts = genesis.accounts.map((a) => `${a.address}=${String(a.balance)}`);
  const parameters = Object.entries(genesis.parameters).map(([k, v]) => `${k}=${String(v)}`);
  const factorOf = ({ energyFactor }: GenesisContract): string =>
    energyFactor === undefined ? '' : `,${String(energyFactor)}`;
  const contracts = genesis.contracts.map((c) => `${c.address}=${c.origin},${c.code}${factorOf(c)}`);
  const assets = genesis.assets.map((a) => `${a.id}=${a.balances.map(([h, n]) => `${h}:${String(n)}`).join(',')}`);
  const version = genesis.version === LATEST ? [] : [`version=${genesis.version}`];
  return [...version, ...accounts, ...parameters, ...contracts, ...assets].join('\n');
}

function issue(chain: Chain, { id, name, balances }: Genesis['assets'][number], i: number): void {
  const { store } = chain;
  const where = `assets[${String(i)}]`;
  if (hasAsset(store, id)) bad(`${where}.id`, 'appears twice');
  putAsset(store, id, name);
  for (const [holder, amount] of balances) {
    if (accountAt(store, holder) === undefined) bad(`${where}.balances`, `${holder} is no account`);
    addAsset(store, holder, id, amount);
  }
}

/** Runs a contract's constructor at genesis and stores the contract. */
async function deploy(chain: Chain, contract: GenesisContract, i: number): Promise<void> {
  const { store } = chain;
  const where = `contracts[${String(i)}]`;
  if (accountAt(store, contract.address) !== undefined) bad(`${where}.address`, 'is already taken');
  const headMs = BigInt(chain.options.startMs - BLOCK_STEP_MS);
  const txId = sha256Hex(Buffer.from(`devnet contract ${String(i)}`));
  const vm = await runVm({
    state: store,
    caller: contract.origin,
    contract: contract.address,
    isCreate: true,
    data: Buffer.from(contract.code, 'hex'),
    value: 0n,
    energyLimit: GENESIS_ENERGY,
    txId,
    block: { number: 0n, timeMs: headMs, witness: '', idOf: () => undefined },
    headMs,
    cycle: 1n,
    dynamicEnergy: false,
    energyFee: 100n,
    chainId: chain.chainId,
    rules: vmRulesAt(store),
    cpuMs: GENESIS_CPU_MS,
  });
  if (vm.result !== 'SUCCESS') bad(where, `its constructor failed: ${vm.halt?.message ?? `${vm.result} ${vm.output}`}`);
  keep(store, vm, 1n, txId);
  for (const [slot, value] of contract.storage)
    store.put(slotKey(contract.address, slot), value === '' ? undefined : value);
  const { energyFactor: factor } = contract;
  if (factor !== undefined)
    store.put(...energyStateEntry(contract.address, { used: 0n, factor, cycle: 1n, isHeld: true }));
  if (contract.ownerKey !== undefined) addOwnedToken(store, { address: contract.address, key: contract.ownerKey });
  const code = codeAt(store, contract.address) ?? new Uint8Array();
  const account = accountAt(store, contract.address);
  if (account !== undefined) putAccount(store, { ...account, name: contract.name });
  putContract(store, {
    address: contract.address,
    origin: contract.origin,
    name: contract.name,
    abi: contract.abi,
    bytecode: contract.code,
    userPercent: 100n,
    originEnergyLimit: 10_000_000n,
    codeHash: Buffer.from(keccak256(code)).toString('hex'),
    trxHash: '',
    version: vmRulesAt(store).compatibleEvm ? 1 : 0,
  });
}
