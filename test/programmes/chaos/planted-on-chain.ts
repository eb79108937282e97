// Planted bugs in transactions sent to the chain, and in conclusions drawn from it.
import { SENDER, WORK, PROOF, SENT, SCHEMA, one, LIES, SILENCE, unguarded, type PlantedBug } from './planted-bug.js';

const VERDICT_DEAD = `{ kind: 'dead', evidence: { expiresAtMs: tx.expiresAtMs, absences: [], scanned: { node: '', from: 0, to: 0, whileValid: 9 } } }`;

export const PLANTED_ON_CHAIN: readonly PlantedBug[] = [
  {
    name: 'sent before it is recorded as sent',
    changes: one(
      SENDER,
      'const { marked, failed } = await this.transactionLog.recordSending(',
      'await this.broadcaster.send(sendable, false);\n        await new Promise((r) => setTimeout(r, 400));\n        const { marked, failed } = await this.transactionLog.recordSending(',
    ),
    // After a kill, the transaction is found on chain by its bytes, so rounds show no harm.
    test: {
      file: 'integration/fulfilment/fulfilment-protocol.test.ts',
      title: 'comes after everything about it is on disk',
    },
  },
  {
    name: 'sent before anything is recorded',
    changes: one(
      SENDER,
      'const ids = await this.transactionLog.recordBuilt(built.map(({ record }) => record));',
      `for (const { step, record } of built) {
            const signature = await this.signer.sign(step.leg.walletAddress, record.rawData);
            await this.broadcaster.send([{ id: 0n, rawData: record.rawData, signature }], false);
        }
        const ids = await this.transactionLog.recordBuilt(built.map(({ record }) => record));`,
    ),
    // After a death at that moment, the transaction is searched for on chain, so rounds show no harm.
    test: {
      file: 'integration/fulfilment/fulfilment-protocol.test.ts',
      title: 'comes after everything about it is on disk',
    },
  },
  {
    name: 'silence taken as death',
    changes: [
      {
        file: PROOF,
        find: `if (first.kind !== 'absent') return first;`,
        put: `if (first.kind !== 'absent') return ${VERDICT_DEAD};`,
      },
      {
        file: SENT,
        find: 'else if (view.solid.timestampMs >= step.tx.expiresAtMs) {',
        put: 'else if (step.tx.ageSec > 1) {',
      },
    ],
    first: SILENCE,
  },
  {
    name: 'a refusal taken as death',
    changes: one(
      SENDER,
      'await this.transactionLog.recordBroadcasts(records, { unheard });',
      `await this.transactionLog.recordBroadcasts(records, { unheard });
        const refused = new Set(records.filter((r) => r.answer !== 'SUCCESS').map((r) => r.txId));
        await this.transactionLog.recordDead(sending.filter((i) => refused.has(i.id)).map((i) => ({ id: i.id, orderId: i.order.id, fence: i.order.fence, evidence: {} })));`,
    ),
    first: LIES,
  },
  {
    name: 'a time-out taken as death',
    changes: one(
      SENDER,
      'await this.transactionLog.recordBroadcasts(records, { unheard });',
      `await this.transactionLog.recordBroadcasts(records, { unheard });
        const silent = new Set(records.filter((r) => r.answer.startsWith('NO_ANSWER')).map((r) => r.txId));
        await this.transactionLog.recordDead(sending.filter((i) => silent.has(i.id)).map((i) => ({ id: i.id, orderId: i.order.id, fence: i.order.fence, evidence: { expiresAtMs: 0, absences: [] } })));`,
    ),
    first: ['accept, then time out', 'cut after', '5xx after'],
  },
  {
    name: 'DUP taken as success',
    changes: one(
      SENDER,
      'await this.transactionLog.recordBroadcasts(records, { unheard });',
      `await this.transactionLog.recordBroadcasts(records, { unheard });
        const dup = records.filter((r) => r.answer === 'DUP_TRANSACTION_ERROR').map((r) => r.txId);
        const head = sending[0]?.tx?.refBlockNumber ?? 1;
        await this.transactionLog.database.query("UPDATE chain_tx SET status = 'included', block_number = $2, block_id = sha256(raw_data), block_at = now() WHERE id = ANY ($1::bigint[]) AND purpose <> 'reclaim'", [dup, head]);
        await this.transactionLog.database.query("UPDATE chain_tx SET status = 'solid' WHERE id = ANY ($1::bigint[]) AND status = 'included'", [dup]);`,
    ),
    first: ['refused in truth', 'accepted, called refused', 'refused, called accepted'],
  },
  {
    name: 'a death before its time',
    changes: [
      { file: PROOF, find: 'if (timestampMs < tx.expiresAtMs)', put: 'if (false)' },
      {
        file: PROOF,
        find: "return { kind: 'unknown', why: `${node.name} has no solid block past the expiration` };",
        put: "return { kind: 'nowhere', from, to: solidHead.number, whileValid };",
      },
    ],
    test: {
      file: 'integration/fulfilment/fulfilment-protocol.test.ts',
      title: 'is not proven before its expiration, although no node knows it',
    },
  },
  {
    name: 'one node’s word is proof enough',
    changes: [
      {
        file: PROOF,
        find: 'const scan = await this.scan(scanner, tx);',
        put: `const scan = { kind: 'nowhere', from: tx.refBlockNumber, to: tx.refBlockNumber, whileValid: 9 } as Scan;`,
      },
      {
        file: PROOF,
        find: 'if (!agreement.suffices([scanner.node, ...agreeing.map(({ node }) => node)], isOut)) {',
        put: 'if (false) {',
      },
    ],
    test: {
      file: 'integration/fulfilment/fulfilment-protocol.test.ts',
      title: 'requires two nodes if two are configured, and with one away the order waits',
    },
  },
  {
    name: 'a transaction that was found is dead all the same',
    changes: [
      { file: PROOF, find: `if (block.txids.has(tx.txid)) return { kind: 'found', blockNumber: number };`, put: '' },
      {
        file: PROOF,
        find: `if (place !== undefined) return { kind: 'found', node, blockNumber: place.blockNumber };`,
        put: '',
      },
      { file: PROOF, find: 'if (timestampMs < tx.expiresAtMs)', put: 'if (false)' },
      {
        file: SENT,
        find: 'else if (view.solid.timestampMs >= step.tx.expiresAtMs) {',
        put: 'else if (step.tx.ageSec > 0.5) {',
      },
      {
        file: SENT,
        find: 'const found = await this.foundTransactions.lookUp(step, view);',
        put: "const found: string = 'absent';",
      },
    ],
  },
  {
    name: 'rentals end by the wall clock',
    changes: one(
      'modules/fulfilment/loop/fulfilment-loop.ts',
      'this.reclaimEndedRentals(clockMs)',
      'this.reclaimEndedRentals(Date.now())',
    ),
    first: ['worker clock shifted', 'worker killed'],
  },
  {
    name: 'rentals end a minute early',
    changes: [
      { file: WORK, find: 'new Date(clockMs)', put: 'new Date(clockMs + 60000)' },
      {
        file: 'modules/fulfilment/plan/plan.ts',
        find: 'order.endsAtMs <= clockMs',
        put: 'order.endsAtMs <= clockMs + 60000',
      },
    ],
  },
  {
    name: 'more reclaimed than the leg',
    changes: one(
      SENDER,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun`,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun * 2n`,
    ),
  },
  {
    name: 'less reclaimed than the leg',
    changes: one(
      SENDER,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun`,
      `type: 'undelegate', ...parties, amountSun: leg.amountSun - 1000000n`,
    ),
  },
  {
    name: 'half of it delegated',
    changes: one(
      SENDER,
      `type: 'delegate', ...parties, amountSun: leg.amountSun`,
      `type: 'delegate', ...parties, amountSun: leg.amountSun / 2n`,
    ),
  },
  {
    name: 'all is reclaimed instead of the leg’s amount',
    changes: one(
      SENDER,
      'const built = builds.flatMap(',
      `for (const step of builds) if (step.purpose === 'reclaim') step.leg = { ...step.leg,
            amountSun: (await this.log.database.query({ name: 'all_of_it', text: \`SELECT sum(amount_sun)::bigint AS sun FROM leg
              WHERE wallet_id = $1 AND receive_address = $2 AND status IN ('active', 'reclaiming')\` }, [step.leg.walletId, step.order.receiver]))[0].sun };
        const built = builds.flatMap(`,
    ),
  },
  {
    name: 'no salt',
    changes: [
      {
        file: SENDER,
        find: 'timestampMs: view.head.timestampMs + Number(leg.id % SALT_RANGE)',
        put: 'timestampMs: view.head.timestampMs',
      },
      {
        file: SCHEMA,
        find: 'CONSTRAINT chain_tx_txid_key UNIQUE (txid)',
        put: 'CHECK (true)',
      },
      unguarded('chain_tx_txid_key'),
    ],
  },
  {
    name: 'what one of two nodes leaves out of a final block stops all sales',
    changes: one(
      'modules/verify/chain-checks.ts',
      'block === undefined || (missing.length > 0 && answered < Math.min(WITNESSES, nodes.length))',
      'block === undefined',
    ),
    test: {
      file: 'long/fulfilment/lying-node.test.ts',
      title: 'a final block without our transaction is a finding by the word of two nodes, and not by that of one',
    },
  },
];
