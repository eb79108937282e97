// `verify` finds each false row that the records alone contradict, and nothing in the honest history.
import { findingsOf } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { namesOf } from '../../support/worker/reconciliation-fixture.js';
import { ACCOUNTS, DEPOSITS, EVENTS, LEDGER, REFILLS } from './verify-plants-money.js';
import { LEGS, ORDERS, TRANSACTIONS, WALLETS } from './verify-plants-orders.js';
import {
  RESTORED_ACCOUNTS,
  RESTORED_DEPOSITS,
  RESTORED_EVENTS,
  RESTORED_LEDGER,
  RESTORED_REFILLS,
} from './verify-plants-restored-money.js';
import { RESTORED_LEGS, RESTORED_ORDERS, RESTORED_TRANSACTIONS } from './verify-plants-restored.js';
import { openHistory, planted, type History } from './verify-history.js';

const START_LIMIT_MS = 240_000;
let history: History;

beforeAll(async () => {
  history = await openHistory();
}, START_LIMIT_MS);
afterAll(() => history.fixture.close(), START_LIMIT_MS);

const filled = (statement: string): string =>
  statement
    .replaceAll(':running', history.running.toString())
    .replaceAll(':ended', history.ended.toString())
    .replaceAll(':refunded', history.refunded.toString())
    .replaceAll(':project', history.project);

it('finds nothing in an honest history', async () => {
  const { checks } = await verifyRecords(history.fixture.api.database);
  expect(checks.flatMap(({ findings }) => findings)).toEqual([]);
});

describe.each([
  ['an order', ORDERS],
  ['a leg', LEGS],
  ['a transaction', TRANSACTIONS],
  ['the ledger', LEDGER],
  ['a deposit', DEPOSITS],
  ['the log', EVENTS],
  ['an account', ACCOUNTS],
  ['an auto-delegation', REFILLS],
  ['a wallet', WALLETS],
  ['a restored order', RESTORED_ORDERS],
  ['a restored leg', RESTORED_LEGS],
  ['a restored transaction', RESTORED_TRANSACTIONS],
  ['the restored ledger', RESTORED_LEDGER],
  ['a restored deposit', RESTORED_DEPOSITS],
  ['the restored log', RESTORED_EVENTS],
  ['a restored account', RESTORED_ACCOUNTS],
  ['a restored auto-delegation', RESTORED_REFILLS],
] as const)('a falsehood of %s', (_of, plants) => {
  const rows = plants.map(([what, ...plant]) => ({ what, plant }));
  it.each(rows)('$what', async ({ plant: [statements, checks, subject, says = {}] }) => {
    const report = await planted(history.fixture.api.database, statements.map(filled));
    expect(report.unmade.filter(({ why }) => why !== 'the chain was not checked')).toEqual([]);
    expect(namesOf(report)).toEqual([...checks]);
    const first = findingsOf(report).find(({ check }) => check === checks[0]);
    expect(first).toMatchObject({ subject: expect.stringMatching(subject) as string, facts: says });
  });
});

it('finds nothing once they are undone', async () => {
  const { checks } = await verifyRecords(history.fixture.api.database);
  expect(checks.flatMap(({ findings }) => findings)).toEqual([]);
});
