// The cost of following full blocks: 600 transactions of 2 KB each, a block every 3 s, over a link of 3 MB/s. Run
// `npm run bench -- --only follow`, or `node test/programmes/bench/follow-blocks.mjs [seconds]` after `npm run build`; each prints one
// line of JSON. The node is a stand-in in a separate process. CPU is that of this process only. It requests either like
// a worker (head, solid head, every block for inclusion, settlement and the search) or like an API process (heads
// only).
import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { NodePool } from '../../../dist/platform/chain/node-pool.js';
import { TronNode } from '../../../dist/platform/chain/node.js';
import { blockOf, solidBlockOf, solidHeadOf, TronClient } from '../../../dist/platform/chain/tron.client.js';

const seconds = Number(process.argv[2] ?? 30);
const [TRANSACTIONS, BYTES, SLOT_MS, BYTES_PER_SEC, SOLID_LAG] = [600, 2000, 3000, 3_000_000, 1];
const idOf = (number) =>
  number.toString(16).padStart(16, '0') + createHash('sha256').update(String(number)).digest('hex').slice(16);

function serveNode() {
  const startedMs = Date.now();
  const transactions = Array.from({ length: TRANSACTIONS }, () => {
    const data = randomBytes(BYTES).toString('hex');
    return {
      ret: [{ contractRet: 'SUCCESS' }],
      signature: [randomBytes(65).toString('hex')],
      txID: randomBytes(32).toString('hex'),
      raw_data: { contract: [{ parameter: { value: { data }, type_url: 'x/protocol.TriggerSmartContract' } }] },
      // raw_data with one field: data (10).
      raw_data_hex: `52d00f${data}`,
    };
  });
  const head = () => 1000 + Math.floor((Date.now() - startedMs) / SLOT_MS);
  // With a field that the service cannot rebuild, the fabricated id is not checked against the header.
  const headerOf = (number) => ({
    blockID: idOf(number),
    block_header: {
      raw_data: {
        number,
        timestamp: startedMs + number * SLOT_MS,
        parentHash: idOf(number - 1),
        accountStateRoot: '00',
      },
    },
  });
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', async () => {
      const asked = JSON.parse(body || '{}');
      const top = head() - (request.url.startsWith('/walletsolidity/') ? SOLID_LAG : 0);
      const number = Number(asked.id_or_num ?? asked.num ?? top);
      const isWhole = request.url.endsWith('getblockbynum') || request.url.endsWith('getnowblock');
      const answer = number > top ? {} : { ...headerOf(number), ...(isWhole && { transactions }) };
      const text = Buffer.from(JSON.stringify(answer));
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
      const sinceMs = Date.now();
      for (let at = 0; at < text.length;) {
        const to = Math.ceil(((Date.now() - sinceMs + 20) / 1000) * BYTES_PER_SEC);
        if (to > at) response.write(text.subarray(at, to));
        at = Math.max(at, to);
        if (at < text.length) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      response.end();
    });
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

async function measure(name, url, step) {
  const limits = {
    apiKey: undefined,
    readTimeoutMs: 4000,
    broadcastTimeoutMs: 5000,
    headStallSec: 30,
    headAgeMaxSec: 0,
  };
  const node = new TronNode({ ...limits, fullUrl: url, solidUrl: url });
  const client = new TronClient(new NodePool([node], 1000));
  await node.readHead();
  const before = process.cpuUsage();
  const endMs = Date.now() + seconds * 1000;
  let blocks = 0;
  while (Date.now() < endMs) {
    const startedMs = Date.now();
    blocks += await step(client.pool.nodes[0]);
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, 1000 - (Date.now() - startedMs))));
  }
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1e6 / seconds;
  console.log(JSON.stringify({ name, percent: share * 100, blocks, seconds, isHealthy: node.isHealthy }));
}

async function run() {
  const node = fork(fileURLToPath(import.meta.url), [], { env: { ...process.env, AS_NODE: '1' } });
  try {
    const port = await new Promise((resolve) => node.once('message', resolve));
    const url = `http://127.0.0.1:${port}`;
    let last;
    await measure('worker', url, async (each) => {
      const head = await each.readHead();
      const solid = await solidHeadOf(each);
      if (head.number === last) return 0;
      last = head.number;
      await blockOf(each, head.number);
      // Settlement and the search read each block again after it was new.
      await solidBlockOf(each, solid.number);
      return 1;
    });
    await measure('API', url, async (each) => {
      await each.readHead();
      return 0;
    });
  } finally {
    node.kill('SIGKILL');
  }
}

await (process.env.AS_NODE === undefined ? run() : serveNode());
