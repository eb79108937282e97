// Runs the slowest test files first, so that no slow file runs alone at the end. Jest remembers durations only on a
// machine that has run the files before. An outdated list costs time only.
import { basename } from 'node:path';
import Sequencer from '@jest/test-sequencer';

const LONGEST = [
  'explained',
  'reconciler',
  'orders-races',
  'notifications',
  'fulfilment',
  'fulfilment-protocol',
  'extensions',
  'auto-delegation-refills',
  'cli-orders',
  'fulfilment-guards',
  'ledger',
  'quotes',
  'chain',
  'orders-model',
  'orders',
  'crash',
  'verify',
  'held-rows',
  'stop',
  'examples',
  'start',
  'deploy',
  'operating-walk',
  'pipeline-projects',
  'events-streams',
  'foreign-ends',
  'unrecorded-acts',
  'auto-delegation-nodes',
  'merchant-pages',
  'market',
  'deposits-worst',
  'crash-deposits',
  'crash-refills',
  'replay',
  'rates',
];

/** A smaller rank runs earlier. */
function rankOf({ path }) {
  const place = LONGEST.indexOf(basename(path, '.test.ts'));
  return place === -1 ? LONGEST.length : place;
}

export default class extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => rankOf(one) - rankOf(other));
  }
}
