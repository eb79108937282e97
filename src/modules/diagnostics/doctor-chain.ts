/** The doctor's checks of the TRON nodes, the token and the pool's wallets on chain. Reads only. */
import { addressToHex } from '../../platform/chain/address.js';
import { NodeError, ignoreNodeError } from '../../platform/chain/errors.js';
import type { History } from '../../platform/chain/history.js';
import { keysInClear, nodeOptionsOf, type ConfiguredNode } from '../../platform/chain/configured-nodes.js';
import { LAG_BLOCKS_MAX } from '../../platform/chain/node-pool.js';
import { TronNode } from '../../platform/chain/node.js';
import { tokenStateOf } from '../../platform/chain/token-state.js';
import {
  headerOf,
  solidHeaderOf,
  solidHeadOf,
  type ChainAccount,
  type TronClient,
} from '../../platform/chain/tron.client.js';
import { monotonicMs, nowMs, sleep } from '../../platform/support/clock.js';
import type { Config } from '../../platform/config/config.js';
import { trxOf } from '../../domain/conversion.js';
import { messageOf } from '../../domain/errors.js';
import { SUN_PER_TRX } from '../../domain/units.js';
import { fault, ok, warning, type DoctorFinding } from './doctor-finding.js';
import { compareReports, judgeReport, readReport, type NodeReport } from './doctor-releases.js';
import { trxText } from '../../domain/text.js';
import type { WalletView } from '../pool/pool-wallets.js';
import { TRANSACTIONS_PER_LEG } from '../pool/bandwidth.js';
import { judgePermission } from '../pool/wallet-permission.js';

const LOOK_MS = 250;
/** TRON: 19 of 27 witnesses make a block solid, about 19 blocks later. */
const SOLID_LAG_MAX = 60;
const HEAD_AGE_MAX_SEC = 60;
/** TRON: the first block of the main network. */
const MAIN_NETWORK = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';

interface NodeLook {
  readonly findings: readonly DoctorFinding[];
  /** The id of block 0; undefined if the node did not answer. */
  readonly genesis: string | undefined;
  readonly report?: NodeReport;
}

/** Checks each node, then all of them together. `patienceMs`: how long a head may take to move. */
export async function checkNodes({ chain }: Config, patienceMs: number): Promise<DoctorFinding[]> {
  const nodes = nodeOptionsOf(chain).map((options) => new TronNode(options));
  const exchanged = await exchangedUrls(nodeOptionsOf(chain));
  if (exchanged.length > 0) return exchanged;
  const reads = await Promise.all(nodes.map((node) => checkNode(node, patienceMs)));
  const genesis = new Set(reads.flatMap((look) => look.genesis ?? []));
  return [
    ...reads.flatMap((look) => look.findings),
    ...(genesis.size > 1
      ? [
          fault(
            'nodes',
            'The nodes belong to different chains.',
            'Use only nodes of one network in TRON_FULL_NODE_URLS.',
          ),
        ]
      : [...compareReports(reads.flatMap(({ report }) => report ?? [])), ...(await compareHeads(nodes))]),
    ...quorum(chain.fullNodeUrls),
    ...keysInClear(chain).map((host) =>
      warning(
        'API key',
        `The key goes to ${host} unencrypted.`,
        'Use an https:// URL for this node, or give it no key in TRON_API_KEYS.',
      ),
    ),
    ...(genesis.has(MAIN_NETWORK) && chain.headAgeMaxSec === 0
      ? [
          warning(
            'head age',
            'A node of the main network that is minutes behind would still be trusted.',
            'Set TRON_HEAD_AGE_MAX_SEC=60.',
          ),
        ]
      : []),
  ];
}

/** Finds nodes that are too far behind the others to be asked. */
async function compareHeads(nodes: readonly TronNode[]): Promise<DoctorFinding[]> {
  const reads = await Promise.all(nodes.map((node) => node.readHead().catch(ignoreNodeError)));
  const highest = Math.max(...reads.map((head) => head?.number ?? 0));
  return nodes.flatMap((node, index) => {
    const head = reads[index];
    const lag = head === undefined ? 0 : highest - head.number;
    if (lag <= LAG_BLOCKS_MAX) return [];
    const says = `The node is ${lag.toString()} blocks behind the newest head, so it gets no requests.`;
    const todo = 'Check its peers and its load. It is used again once it has caught up.';
    return [fault(`node ${node.name}`, says, todo)];
  });
}

/** Finds nodes with exchanged URLs: their two ports answer only if the URLs are swapped. */
async function exchangedUrls(configured: readonly ConfiguredNode[]): Promise<DoctorFinding[]> {
  const answers = async ({ fullUrl, solidUrl, ...rest }: ConfiguredNode): Promise<boolean> => {
    const node = new TronNode({ ...rest, fullUrl, solidUrl });
    return Promise.all([node.readHead(), solidHeadOf(node)]).then(
      () => true,
      () => false,
    );
  };
  const findings = configured.map(async (options): Promise<DoctorFinding[]> => {
    const { fullUrl, solidUrl, index } = options;
    if (fullUrl === solidUrl || (await answers(options))) return [];
    if (!(await answers({ ...options, fullUrl: solidUrl, solidUrl: fullUrl }))) return [];
    const says = `The URLs of node ${(index + 1).toString()} are swapped: the first is its solidity port, the second its full port.`;
    return [fault(`node ${(index + 1).toString()}`, says, 'Exchange TRON_FULL_NODE_URLS and TRON_SOLIDITY_NODE_URLS.')];
  });
  return (await Promise.all(findings)).flat();
}

/** Two nodes of different operators must agree on a proof of death (docs/interface.md §21). */
function quorum(urls: readonly string[]): DoctorFinding[] {
  const hosts = new Set(urls.map((url) => new URL(url).hostname));
  if (urls.length > 1 && hosts.size > 1)
    return [ok('quorum', `The nodes are on ${hosts.size.toString()} hosts, which are compared with each other.`)];
  const says =
    urls.length === 1 ? 'There is only one node, so its answers cannot be verified.' : 'All nodes are on one host.';
  return [
    warning('quorum', says, 'Use nodes of two operators; with one, a refund needs a scan of blocks as its proof.'),
  ];
}

const THROTTLED_TODO = 'Set TRON_REQUESTS_PER_SEC to the limit of the provider; TRON_API_KEYS may raise it.';

async function checkNode(node: TronNode, patienceMs: number): Promise<NodeLook> {
  const check = `node ${node.name}`;
  try {
    const first = await node.readHead();
    const genesis = (await headerOf(node, 0))?.id;
    const findings: DoctorFinding[] = [];
    const head = await movedHead(node, first.number, patienceMs);
    if (head === undefined) {
      const says = `The node is stuck at block ${first.number.toString()}.`;
      findings.push(fault(check, says, 'Check that the node syncs. It gets no requests until its head moves.'));
    } else findings.push(ok(check, `Its head is moving, at block ${head.number.toString()}.`));
    const ageSec = (nowMs() - (head ?? first).timestampMs) / 1000;
    if (head !== undefined && Math.abs(ageSec) > HEAD_AGE_MAX_SEC) {
      const age = `${Math.round(Math.abs(ageSec)).toString()} s ${ageSec > 0 ? 'old by' : 'ahead of'}`;
      const todo = 'The node lags behind, the chain has its own time, or this machine’s clock is wrong.';
      findings.push(warning(check, `Its newest block is ${age} this machine's clock.`, todo));
    }
    findings.push(...(await checkSolid(node, (head ?? first).number, genesis)));
    const report = await readReport(node);
    return { findings: [...findings, ...judgeReport(report, genesis === MAIN_NETWORK)], genesis, report };
  } catch (error) {
    const isThrottled = error instanceof NodeError && error.kind === 'throttled';
    const todo = isThrottled
      ? THROTTLED_TODO
      : 'Start the node, or correct its URL in TRON_FULL_NODE_URLS. A provider may require a key in TRON_API_KEYS.';
    return {
      findings: [fault(check, `The node gives no usable answer: ${messageOf(error)}.`, todo)],
      genesis: undefined,
    };
  }
}

async function movedHead(node: TronNode, from: number, patienceMs: number) {
  const endMs = monotonicMs() + patienceMs;
  while (monotonicMs() < endMs) {
    await sleep(LOOK_MS);
    const head = await node.readHead();
    if (head.number > from) return head;
  }
  return undefined;
}

async function checkSolid(node: TronNode, head: number, genesis: string | undefined): Promise<DoctorFinding[]> {
  const check = `solidity ${node.name}`;
  try {
    const solid = await solidHeadOf(node);
    const solidGenesis = (await solidHeaderOf(node, 0))?.id;
    if (genesis !== undefined && solidGenesis !== undefined && genesis !== solidGenesis) {
      const todo = 'TRON_SOLIDITY_NODE_URLS must name the same nodes as TRON_FULL_NODE_URLS, in the same order.';
      return [fault(check, 'The solidity port belongs to another chain than the full port.', todo)];
    }
    const lag = head - solid.number;
    if (lag > SOLID_LAG_MAX) {
      const says = `Its solid head is ${lag.toString()} blocks behind.`;
      return [warning(check, says, 'Orders are not settled or refunded until it catches up.')];
    }
    return [ok(check, `Its solid head is ${Math.max(0, lag).toString()} blocks behind.`)];
  } catch (error) {
    const isThrottled = error instanceof NodeError && error.kind === 'throttled';
    const todo = isThrottled
      ? THROTTLED_TODO
      : 'Correct TRON_SOLIDITY_NODE_URLS, or set node.http.solidityEnable = true (port 8091) at the node. Orders are delivered and reclaimed, but not settled or refunded without solid blocks.';
    return [fault(check, `The solidity port gives no usable answer: ${messageOf(error)}.`, todo)];
  }
}

/** Checks that every witness keeps transaction history. */
export async function checkHistory({ pool }: TronClient, history: History): Promise<DoctorFinding[]> {
  const todo =
    'A transaction missing on this node proves nothing. Use an unpruned node with storage.transHistory.switch = on. A lite fullnode needs node.openHistoryQueryWhenLiteFN = true.';
  const findings = await Promise.all(
    pool.agreement.witnesses.map(async (node) => {
      const check = `history ${node.name}`;
      try {
        if (await history.keeps(node)) return ok(check, 'It keeps transaction history.');
        return fault(check, 'It keeps no transaction history.', todo);
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        return warning(check, `The check failed: ${messageOf(error)}.`, 'Fix the nodes first.');
      }
    }),
  );
  return findings;
}

/** Checks that TOKEN_CONTRACT is a contract that answers like a token. */
export async function checkToken(tron: TronClient, { chain }: Config): Promise<DoctorFinding[]> {
  const token = chain.tokenContract;
  const todo = 'Set TOKEN_CONTRACT to the token whose transfers you rent energy for, on this network.';
  try {
    const account = await tron.account(token);
    if (account?.isContract !== true) return [fault('token', `There is no contract at ${token}.`, todo)];
    const parameter = addressToHex(token).slice(2).padStart(64, '0');
    const call = { ownerAddress: token, contractAddress: token, functionSelector: 'balanceOf(address)', parameter };
    const outcome = await tron.simulate(call);
    if (outcome.kind !== 'success') return [fault('token', `${token} does not answer balanceOf(address).`, todo)];
    return [ok('token', `${token} answers like a token.`), ...(await checkOwnerActs(tron, token))];
  } catch (error) {
    return [warning('token', `The check failed: ${messageOf(error)}.`, 'Fix the nodes first.')];
  }
}

/** Reports settings of the token's owner. A token without such functions has none. */
async function checkOwnerActs({ pool }: TronClient, token: string): Promise<DoctorFinding[]> {
  const state = await pool.ask('what the owner of the token has set', (node) => tokenStateOf(node, token));
  const findings: DoctorFinding[] = [];
  if (state.isDeprecated) {
    const successor = state.successor ?? 'no token';
    const todo = `Transfers of the successor are not deposits yet. Run \`deposits accept-successor ${successor}\`, then set TOKEN_CONTRACT.`;
    findings.push(fault('token', `The token is deprecated; its successor is ${successor}.`, todo));
  }
  if (state.isPaused) {
    findings.push(
      warning(
        'token',
        'The token is paused: all its transfers fail.',
        'Wait for the issuer to unpause it. Deposits and sweeps continue then.',
      ),
    );
  }
  if (state.feeBasisPoints > 0n) {
    const says = `The token deducts a fee of ${(Number(state.feeBasisPoints) / 100).toString()} % from each transfer, at most ${trxOf(state.maximumFee)}.`;
    findings.push(warning('token', says, 'Transfers use more energy, and the recipient gets less than was sent.'));
  }
  return findings;
}

/** Compares every wallet of the pool with the chain. */
export async function checkWallets(
  tron: TronClient,
  wallets: readonly WalletView[],
  { pool }: Config,
): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  if (!wallets.some((wallet) => wallet.role === 'pool')) {
    const todo = 'Add a wallet: `npm run cli -- pool permissions ADDRESS …`, then `pool add`.';
    findings.push(fault('pool', 'The pool has no wallet, so there is nothing to sell.', todo));
  }
  if (!wallets.some((wallet) => wallet.role === 'activation')) {
    const todo = 'Add one with `pool add --role activation` if merchants should be able to activate accounts.';
    findings.push(warning('pool', 'There is no activation wallet; POST /v1/activate answers 503.', todo));
  }
  for (const wallet of wallets) {
    try {
      findings.push(...judgeWallet(wallet, await tron.account(wallet.address), pool));
    } catch (error) {
      const says = `The check failed: ${messageOf(error)}.`;
      findings.push(warning(`wallet ${wallet.address}`, says, 'Fix the nodes first.'));
    }
  }
  return findings;
}

function judgeWallet(wallet: WalletView, account: ChainAccount | undefined, pool: Config['pool']): DoctorFinding[] {
  const check = `wallet ${wallet.address}`;
  if (account === undefined)
    return [
      fault(check, 'The wallet does not exist on this chain.', 'Check that the nodes belong to the right network.'),
    ];
  const findings: DoctorFinding[] = [];
  const verdict = judgePermission(account, wallet.permission_id, wallet.key_address, wallet.role);
  const update = `\`pool permissions ${wallet.address} --role ${wallet.role}\` prints the update to sign.`;
  if (verdict.kind === 'wide' && pool.allowWidePermission.includes(wallet.address)) {
    findings.push(warning(check, `It ${verdict.says}; POOL_ALLOW_WIDE_PERMISSION accepts it.`, update));
  } else if (verdict.kind !== 'exact') findings.push(fault(check, `It ${verdict.says}.`, update));
  if (wallet.role === 'pool' && account.stakedForEnergySun === 0n) {
    findings.push(fault(check, 'The wallet has no stake for energy.', 'Stake TRX for ENERGY, or pause the wallet.'));
  }
  const minimum = BigInt(pool.minBandwidthTrx) * SUN_PER_TRX;
  if (account.balanceSun < minimum) {
    const says = `It holds ${trxText(account.balanceSun)}, less than the ${trxText(minimum)} it needs for bandwidth.`;
    findings.push(fault(check, says, 'Send it TRX, or stake for bandwidth and lower POOL_MIN_BANDWIDTH_TRX.'));
  }
  if (wallet.role === 'pool' && wallet.read_at !== null && wallet.free_transactions < TRANSACTIONS_PER_LEG) {
    const says = 'Open orders and their reclaims need all its bandwidth and TRX, so it cannot sell more.';
    findings.push(warning(check, says, 'Send it TRX, or stake for bandwidth.'));
  }
  if (wallet.status === 'paused') {
    const says = `It is paused: ${wallet.pause_reason ?? 'no recorded reason'}.`;
    findings.push(warning(check, says, `Run \`pool resume ${wallet.address}\` when the reason no longer applies.`));
  }
  return findings.length > 0 ? findings : [ok(check, 'Its key has exactly the required permissions.')];
}
