/** `pool`: the wallets that delegate stake, and the wallet that activates accounts. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { readPermissionFees } from '../../platform/chain/permission-fees.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { messageOf } from '../../domain/errors.js';
import { addressArg, choiceArg, integerArg, readKeyFile } from './arguments.js';
import { ForeignJson, type CliContext } from './cli-context.js';
import { usageError } from '../../domain/operator-error.js';
import { trxText } from '../../domain/text.js';
import { fields } from './format.js';
import { PoolSync } from '../pool/pool-sync.js';
import { listPool } from './pool-list.js';
import { PoolWallets, type WalletKey } from '../pool/pool-wallets.js';
import { costOfUpdate, costText, shortageText } from '../pool/permission-cost.js';
import { planUpdate } from '../pool/permission-update.js';
import { WALLET_ROLES, judgePermission, type WalletRole } from '../pool/wallet-permission.js';

const permissionArg = integerArg(0n, 9n);
const slotsArg = integerArg(1n, 256n);
const KEY_FILE = 'file with the hot key in hex, readable only by its owner, or - for standard input';

interface KeyOptions {
  readonly keyFile?: string;
  readonly keyAddress?: string;
  readonly permissionId: bigint;
}

type PermissionsOptions = Omit<KeyOptions, 'permissionId'> & { readonly role: WalletRole };

interface AddOptions extends KeyOptions {
  readonly role: WalletRole;
  readonly address: string;
  readonly slots?: bigint;
}

export function addPoolCommands(program: Command, context: CliContext): void {
  const pool = program.command('pool').description('manage the wallets whose stake is rented out');
  pool
    .command('new-key <file>')
    .description('create a hot key in a new file that only its owner can read, and print its address')
    .action((file: string) => newKey(context, file));
  addKeyOptions(
    pool
      .command('add')
      .description('add a wallet, after a check of its key’s permissions on chain')
      .requiredOption(
        '--role <role>',
        'pool (delegates energy) or activation (creates accounts)',
        choiceArg(WALLET_ROLES),
      )
      .requiredOption('--address <address>', 'address of the wallet', addressArg)
      .option('--slots <n>', 'number of slots for its free stake (default: POOL_SLOTS_PER_WALLET)', slotsArg),
  ).action((options: AddOptions) => add(context, options));
  addKeyOptions(
    pool.command('set-key <address>').description('change a wallet’s hot key, after the same checks'),
  ).action((address: string, options: KeyOptions) => setKey(context, addressArg(address), options));
  pool
    .command('list')
    .description('list all wallets with their stake, and the capacity now and in the next 24 hours')
    .action(() => context.operate((parts) => listPool(context, parts)));
  pool
    .command('permissions <address>')
    .description('print the permission update that the wallet’s owner signs with the cold key')
    .requiredOption('--role <role>', 'pool or activation', choiceArg(WALLET_ROLES))
    .option('--key-file <path>', KEY_FILE)
    .option('--key-address <address>', 'or the address of the hot key', addressArg)
    .action((address: string, options: PermissionsOptions) => permissions(context, addressArg(address), options));
  for (const [name, status] of [
    ['pause', 'paused'],
    ['resume', 'active'],
  ] as const) {
    pool
      .command(`${name} <address>`)
      .description(status === 'paused' ? 'stop sales from a wallet; reclaims continue' : 'resume sales from a wallet')
      .action(async (address: string) => {
        addressArg(address);
        const act = context.actor(status === 'paused' ? undefined : 'resumed');
        await context.operate(async (parts) => {
          const wallets = parts.get(PoolWallets);
          await wallets.setStatus(address, status, act);
          const now = await wallets.get(address);
          const why =
            now.pause_reason === null ? '; another command has resumed it since' : `, still: ${now.pause_reason}`;
          context.print(`${address} is ${now.status}${now.status === status ? '' : why}.`, now);
        });
      });
  }
}

function addKeyOptions(command: Command): Command {
  return command
    .option('--key-file <path>', `${KEY_FILE}; sealed under MASTER_KEY`)
    .option('--key-address <address>', 'instead: address of a key that the signer holds', addressArg)
    .requiredOption('--permission-id <id>', 'the wallet’s permission that contains the key', permissionArg);
}

async function add(context: CliContext, options: AddOptions): Promise<void> {
  const { role, address } = options;
  const key = await readKey(context, options);
  const permissionId = Number(options.permissionId);
  const act = context.actor('wallet added');
  await context.operate(async (parts) => {
    const slots = options.slots === undefined ? parts.get(Config).pool.slotsPerWallet : Number(options.slots);
    // Nothing on chain shows which service signed with a key, so each would reclaim what the other delegates.
    const confirmDelegated = (sun: bigint): Promise<void> =>
      context.confirm(
        `${address} has delegated ${trxText(sun)} already. If another service delegates from this wallet, each reclaims the rentals of the other.`,
      );
    const wallet = { address, role, permissionId, key, slots, confirmDelegated };
    const { account, warning } = await parts.get(PoolWallets).add(wallet, act);
    if (warning !== undefined) context.warn(warning);
    // Read the wallet now, so that its capacity is known before a worker's next read.
    await parts.get(PoolSync).syncWallet(address);
    const human = fields([
      ['Wallet', address],
      ['Role', role],
      [
        'Key',
        `${key.keyAddress} (permission ${permissionId.toString()}, ${key.privateKey ? 'sealed in the database' : 'held by the signer'})`,
      ],
      ['Staked for energy', trxText(account.stakedForEnergySun)],
      ['Delegated', trxText(account.delegatedEnergySun)],
      ['Balance', trxText(account.balanceSun)],
      ['Slots', slots],
    ]);
    context.print(human, {
      address,
      role,
      permission_id: permissionId,
      key_address: key.keyAddress,
      key_held_by: key.privateKey === undefined ? 'signer' : 'database',
      slots,
      staked_sun: account.stakedForEnergySun,
      delegated_sun: account.delegatedEnergySun,
      balance_sun: account.balanceSun,
    });
  });
}

async function setKey(context: CliContext, address: string, options: KeyOptions): Promise<void> {
  const key = await readKey(context, options);
  const permissionId = Number(options.permissionId);
  const act = context.actor('key changed');
  await context.confirm(`This makes ${key.keyAddress} the key of ${address}.`);
  await context.operate(async (parts) => {
    const wallets = parts.get(PoolWallets);
    const warning = await wallets.setKey(address, permissionId, key, act);
    if (warning !== undefined) context.warn(warning);
    context.print(
      `From now on, ${key.keyAddress} signs for ${address}. ` +
        (key.privateKey === undefined
          ? 'Restart the signer once its wallets file holds the key; the workers need no restart.'
          : 'No process needs a restart.'),
      await wallets.get(address),
    );
  });
}

async function permissions(context: CliContext, address: string, options: PermissionsOptions): Promise<void> {
  const { keyAddress } = await readKey(context, options);
  await context.operate(async (parts) => {
    const account = await parts.get(PoolWallets).account(address);
    const { role } = options;
    const fit = account.permissions.find(
      (permission) => judgePermission(account, permission.id, keyAddress, role).kind === 'exact',
    );
    if (fit !== undefined) {
      const human = `Nothing to sign: permission ${fit.id.toString()} (${fit.name}) already grants exactly what a ${role} wallet needs.`;
      context.print(human, { permission_id: fit.id, update: null });
      return;
    }
    const { update, permissionId, isReplacing } = planUpdate(account, role, keyAddress);
    const cost = costOfUpdate(account, await readPermissionFees(parts.get(TronClient)));
    const shortage = shortageText(address, cost);
    if (shortage !== undefined) context.warn(shortage);
    const fullNode = parts.get(Config).chain.fullNodeUrls[0] ?? '';
    const id = permissionId.toString();
    const human = [
      `The permission update for ${address}. It ${isReplacing ? 'replaces the permission of that name' : 'adds one permission'}`,
      `(id ${id}) and keeps the others. ${costText(cost)}`,
      '',
      JSON.stringify(update, null, 2),
      '',
      'Build it, sign it with the cold key, and send it:',
      `  curl -s ${fullNode}/wallet/accountpermissionupdate -d '${JSON.stringify(update)}'`,
      `  (sign the answer with ${cost.signatures > 1 ? `${cost.signatures.toString()} keys of the owner` : 'the owner’s key'}, then POST it to /wallet/broadcasttransaction)`,
      '',
      'Then:',
      `  npm run cli -- pool add --role ${role} --address ${address} --permission-id ${id} --key-file FILE`,
    ];
    context.print(human.join('\n'), {
      permission_id: permissionId,
      replaces: isReplacing,
      fee_sun: cost.updateSun,
      multi_sign_fee_sun: cost.multiSignSun,
      balance_sun: cost.balanceSun,
      missing_sun: cost.missingSun,
      update: new ForeignJson(update),
    });
  });
}

async function newKey(context: CliContext, file: string): Promise<void> {
  // Loaded only here: it loads tronweb, which takes half a second.
  const { addressOfKey } = await import('../../platform/chain/keys.js');
  const privateKey = randomBytes(32);
  const keyAddress = addressOfKey(privateKey);
  try {
    // Never overwrite an existing file: it could be the only copy of a key.
    await writeFile(file, `${privateKey.toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw usageError(`Failed to create the key file: ${messageOf(error)}.`);
  }
  context.print(`${file} contains the key of ${keyAddress}.`, { key_file: file, key_address: keyAddress });
}

async function readKey(context: CliContext, options: Omit<KeyOptions, 'permissionId'>): Promise<WalletKey> {
  if ((options.keyFile === undefined) === (options.keyAddress === undefined)) {
    throw usageError(
      'The key is missing. Pass either --key-file PATH (- for standard input) or --key-address ADDRESS.',
    );
  }
  if (options.keyFile === undefined) return { keyAddress: options.keyAddress ?? '', privateKey: undefined };
  const privateKey = await readKeyFile(options.keyFile, context.terminal.input);
  // Loaded only here: it loads tronweb, which takes half a second.
  const { addressOfKey } = await import('../../platform/chain/keys.js');
  try {
    return { keyAddress: addressOfKey(privateKey), privateKey };
  } catch {
    // Zero, or beyond the curve's order. The cause is not shown: it could contain the key.
    throw usageError(`The key in --key-file ${options.keyFile} is not a valid private key, although it has 32 bytes.`);
  }
}
