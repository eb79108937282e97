// The doctor's checks of the records that a node keeps: transaction history, internal transactions, final blocks.
import { nodeOptionsOf } from '../../../src/platform/chain/configured-nodes.js';
import { History } from '../../../src/platform/chain/history.js';
import { NodePool } from '../../../src/platform/chain/node-pool.js';
import { TronNode } from '../../../src/platform/chain/node.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig, type Config } from '../../../src/platform/config/config.js';
import { checkHistory, checkNodes } from '../../../src/modules/diagnostics/doctor-chain.js';
import { checkInternal } from '../../../src/modules/diagnostics/doctor-deposits.js';
import { STRICT_CALLER, callsOf } from '../../devnet/contracts/payers.js';
import { TRX, keyOf, startChain, type Client } from '../../devnet/client.js';
import { settings } from '../../support/cli.js';

const INFO_PATH = 'walletsolidity/gettransactioninfobyid';

let chain: Client;
let config: Config;
let nodes: readonly TronNode[];
/** A final transaction with an internal one. */
let payment: { readonly txid: string; readonly blockNumber: number };

beforeAll(async () => {
  // The second node is a java-tron without vm.saveInternalTx.
  chain = await startChain({ second: { behind: 0, solidLag: 1, saveInternal: 'none' } });
  const { fullUrl, solidUrl, second } = chain.node;
  const urls = {
    TRON_FULL_NODE_URLS: `${fullUrl},${second!.fullUrl}`,
    TRON_SOLIDITY_NODE_URLS: `${solidUrl},${second!.solidUrl}`,
  };
  config = readConfig(settings('postgres://nobody@127.0.0.1:1/none', urls));
  nodes = nodeOptionsOf(config.chain).map((options) => new TronNode(options));
  const contract = await chain.deploy(keyOf('bank'), STRICT_CALLER);
  const receipt = await chain.run(keyOf('bank'), 'triggersmartcontract', {
    contract_address: contract,
    function_selector: 'run()',
    parameter: callsOf({ to: keyOf('pool').hex, value: TRX }),
    call_value: TRX,
    fee_limit: 1000 * TRX,
  });
  payment = { txid: String(receipt['id']), blockNumber: Number(receipt['blockNumber']) };
  await chain.mine(3);
});

afterEach(() => chain.node.control('faults/clear'));
afterAll(() => chain.node.stop());

test('a node without vm.saveInternalTx gets a warning with the setting, and another one none', async () => {
  expect(await Promise.all(nodes.map(checkInternal))).toEqual([
    expect.objectContaining({ state: 'ok' }),
    {
      check: `internal ${nodes[1]!.name}`,
      state: 'warning',
      says: 'None of its newest 20 blocks has an internal transaction.',
      todo: expect.stringContaining('vm.saveInternalTx = true'),
    },
  ]);
});

test('a node that does not know a final transaction is a fault with the settings of history', async () => {
  await chain.node.control('faults', { kind: 'wrong', wrong: 'empty', path: INFO_PATH, node: 1 });
  const pool = new NodePool(nodes, 1000);
  try {
    const history = new History(async () => Promise.resolve(payment));
    const findings = await checkHistory(new TronClient(pool), history);
    expect(findings).toHaveLength(2);
    expect(findings).toEqual(
      expect.arrayContaining([
        { check: `history ${nodes[0]!.name}`, state: 'ok', says: 'It keeps transaction history.' },
        {
          check: `history ${nodes[1]!.name}`,
          state: 'fault',
          says: 'It keeps no transaction history.',
          todo: expect.stringMatching(/storage\.transHistory\.switch = on.*node\.openHistoryQueryWhenLiteFN = true/),
        },
      ]),
    );
  } finally {
    await pool.stop();
  }
});

test('final blocks far behind the head are a warning', async () => {
  await chain.mine(80);
  await chain.node.control('node', { index: 1, behind: 0, solidLag: 63 });
  const findings = await checkNodes(config, 300);
  expect(findings).toContainEqual({
    check: `solidity ${nodes[1]!.name}`,
    state: 'warning',
    says: 'Its solid head is 63 blocks behind.',
    todo: expect.stringMatching(/\w{4}/),
  });
});
