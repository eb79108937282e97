// Typical console journeys in a real browser against real processes: by mouse, by keyboard, offline, refused.
import { beginning } from './beginning.js';
import { endedSessions } from './ended-sessions.js';
import { explaining } from './explaining.js';
import { hostile } from './hostile.js';
import { merchants } from './merchants.js';
import { operators } from './operators.js';
import { documentation } from './documentation.js';
import { documents } from './documents.js';
import { outages } from './outages.js';
import { outside } from './outside.js';
import { purchases } from './purchases.js';
import { pages } from './pages.js';
import { signingIn } from './signing-in.js';
import { settings } from './settings.js';
import { webhooks } from './webhooks.js';
import { openCluster, START_LIMIT_MS, type ConsoleCluster } from './cluster.js';
import type { View } from './view.js';

let cluster: ConsoleCluster;
const views: View[] = [];
const at = (): ConsoleCluster => cluster;
const see = (view: View): View => {
  views.push(view);
  return view;
};

beforeAll(async () => {
  cluster = await openCluster();
}, START_LIMIT_MS);

afterEach(async () => {
  const faults = views.flatMap((view) => view.faults);
  for (const view of views.splice(0)) await view.close();
  // No script failed, and the page's policy refused nothing.
  expect(faults).toEqual([]);
});

afterAll(() => cluster.close(), START_LIMIT_MS);

describe('signing in', () => signingIn(at, see));
describe('merchants', () => merchants(at, see));
describe('purchases', () => purchases(at, see));
describe('ended sessions', () => endedSessions(at, see));
describe('explanations', () => explaining(at, see));
describe('pages', () => pages(at, see));
describe('settings', () => settings(at, see));
describe('documents', () => documents(at, see));
describe('webhooks', () => webhooks(at, see));
describe('the beginning', () => beginning(at, see));
describe('attackers', () => hostile(at, see));
describe('operators', () => operators(at, see));
describe('the documentation', () => documentation(at, see));
describe('the world outside', () => outside(at, see));
describe('outages', () => outages(at, see));
