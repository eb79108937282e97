// Two stand-in nodes in a separate process. Half of each block's transactions are TRX payments, half are token calls
// with their logs, as on the main net. One block in ten pays a deposit. A message sets the newest block.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { buildTransfer } from '../../../dist/platform/chain/transfer-transaction.js';
import { addressToHex } from '../../../dist/platform/chain/address.js';

const { TOKEN, PAYER, PAID, FIRST, COUNT, NEWEST, TRANSACTIONS } = process.env;
const [first, count] = [Number(FIRST), Number(COUNT)];
const GENESIS_MS = 1_700_000_000_000;
const PAYS_EACH = 10;
const OTHERS = JSON.parse(process.env.OTHERS);
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

const idOf = (number) =>
  number.toString(16).padStart(16, '0') + createHash('sha256').update(String(number)).digest('hex').slice(16);
const timeOf = (number) => GENESIS_MS + number * 3000;
const word = (address) => addressToHex(address).slice(2).padStart(64, '0');

function transactionOf(from, to, amount, number, isToken) {
  const token = { contract: TOKEN, feeLimitSun: 30_000_000 };
  const terms = {
    reference: { number: number - 20, id: idOf(number - 20), timestampMs: timeOf(number - 20) },
    timestampMs: timeOf(number),
    expiresAtMs: timeOf(number) + 60_000,
  };
  const { txid, transaction } = buildTransfer({ from, to, amount, ...(isToken && { token }) }, terms);
  const log = {
    address: addressToHex(TOKEN).slice(2),
    topics: [TRANSFER, word(from), word(to)],
    data: amount.toString(16).padStart(64, '0'),
  };
  return {
    transaction: { ...transaction, ret: [{ contractRet: 'SUCCESS' }], signature: ['00'.repeat(65)] },
    info: {
      id: txid,
      blockNumber: number,
      blockTimeStamp: timeOf(number),
      contractResult: [isToken ? '1'.padStart(64, '0') : ''],
      receipt: { net_usage: 345, ...(isToken && { result: 'SUCCESS', energy_usage_total: 13_000 }) },
      ...(isToken && { fee: 1000, log: [log] }),
    },
  };
}

const headerOf = (number) => ({
  blockID: idOf(number),
  // With a field that the service cannot rebuild, the fabricated id is not checked against the header.
  block_header: {
    raw_data: {
      number,
      timestamp: timeOf(number),
      parentHash: idOf(number - 1),
      txTrieRoot: 'ab'.repeat(32),
      accountStateRoot: '00',
    },
  },
});

let newest = Number(NEWEST);
process.on('message', (number) => (newest = number));

const blocks = new Map();
for (let number = first + 1; number <= first + count; number += 1) {
  const made = Array.from({ length: Number(TRANSACTIONS) }, (_, index) => {
    const isPaying = index === 0 && number % PAYS_EACH === 0;
    return transactionOf(
      PAYER,
      isPaying ? PAID : OTHERS[index % OTHERS.length],
      BigInt(20_000_000 + index),
      number,
      index % 2 === 1,
    );
  });
  blocks.set(number, {
    block: JSON.stringify({ ...headerOf(number), transactions: made.map(({ transaction }) => transaction) }),
    infos: JSON.stringify(made.map(({ info }) => info)),
  });
}

function serve() {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        const asked = JSON.parse(body || '{}');
        const number = Number(asked.id_or_num ?? asked.num ?? newest);
        const known = blocks.get(number);
        const path = request.url;
        const text = path.endsWith('gettransactioninfobyblocknum')
          ? (known?.infos ?? '[]')
          : path.endsWith('getblockbynum')
            ? (known?.block ?? '{}')
            : JSON.stringify(headerOf(number));
        response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      });
    });
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

process.send({ ports: [await serve(), await serve()], firstId: idOf(first), firstMs: timeOf(first) });
