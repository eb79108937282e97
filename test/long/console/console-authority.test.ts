// Every route of both consoles for every kind of caller: a route accepts exactly the callers that it declares.
import { Reflector } from '@nestjs/core';
import { AUTHORITY, type AuthorityTerms, type RoleAuthority } from '../../../src/modules/console/authority.js';
import type { Audience, PersonRole } from '../../../src/domain/audience.js';
import { routesOf, type Route } from '../../../src/platform/http/pipeline/routes.js';
import {
  openConsole,
  PASSWORD,
  type Answer,
  type Browser,
  type Account,
  type TestConsole,
} from '../../support/console/console-fixture.js';
import { cliWith, settings } from '../../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';

const LIMIT_MS = 120_000;
const ID = '00000000-0000-4000-8000-000000000001';
const ROLES = { merchant: ['owner', 'member'], operator: ['admin', 'support'] } as const;
/** Routes that end the caller's session or use up its attempts. Other tests cover them. */
const ENDING = /sign-out|sign-in|stream$|password$|second-factor/;

/** POST routes that change nothing. */
const ONLY_SHOWING = [
  '/api/operator/explanations',
  '/api/operator/prices/preview',
  '/api/projects/:project_id/explanations',
  '/api/projects/:project_id/playground/extension',
  '/api/projects/:project_id/playground/quote',
  '/api/projects/:project_id/playground/simulation',
];

let test: TestDatabase;
let consoles: Record<Audience, TestConsole>;
let people: Record<string, Account>;
let mine: string;
let theirs: string;

beforeAll(async () => {
  test = await createTestDatabase();
  consoles = { merchant: await openConsole(test.url, 'merchant'), operator: await openConsole(test.url, 'operator') };
  const cli = cliWith(settings(test.url));
  const made = async (name: string): Promise<string> =>
    ((await cli('project', 'create', '--name', name, '--json')).json() as { merchant: string }).merchant;
  [mine, theirs] = [await made('Mine'), await made('Theirs')];
  people = {
    owner: await consoles.merchant.signedIn('owner', mine),
    member: await consoles.merchant.signedIn('member', mine),
    admin: await consoles.operator.signedIn('admin'),
    support: await consoles.operator.signedIn('support'),
  };
}, LIMIT_MS);

afterAll(async () => {
  await consoles.merchant.close();
  await consoles.operator.close();
  await test.drop();
});

interface Declared {
  readonly route: Route;
  readonly terms: AuthorityTerms;
}

function declaredOf(audience: Audience): Declared[] {
  const { app } = consoles[audience];
  const reflector = app.get(Reflector);
  return routesOf(app)
    .list()
    .map((route) => ({ route, terms: reflector.get<AuthorityTerms>(AUTHORITY, route.handler as () => void) }));
}

const withRoles = (audience: Audience): (Declared & { terms: RoleAuthority })[] =>
  declaredOf(audience).filter(
    (each): each is Declared & { terms: RoleAuthority } => 'scope' in each.terms && each.terms[audience] !== undefined,
  );

/** Returns the route's path with the project's id, and unused ids for other parameters. */
const pathOf = ({ pattern }: Route, project: string): string =>
  pattern.replace(':project_id', project).replaceAll(/:\w+/g, ID);

async function ask(browser: Browser, route: Route, project: string): Promise<Answer> {
  const path = pathOf(route, project);
  return route.method === 'GET' ? browser.get(path) : browser.post(path, {});
}

const roleCases = (['merchant', 'operator'] as const).flatMap((audience) =>
  ROLES[audience].map((role) => [audience, role] as const),
);

describe.each(['merchant', 'operator'] as const)('the %s’s console', (audience) => {
  it('has no route without declared roles', () => {
    const declared = declaredOf(audience);
    expect(declared.length).toBeGreaterThan(20);
    expect(
      declared
        .filter(({ terms }) => (terms as AuthorityTerms | undefined) === undefined)
        .map(({ route }) => route.pattern),
    ).toEqual([]);
    for (const { route, terms } of declared) {
      expect(route.pattern).toMatch(/^\/api\//);
      if (!('scope' in terms)) continue;
      const roles = [...(terms.merchant ?? []), ...(terms.operator ?? [])];
      expect({ route: route.pattern, roles: roles.length > 0 }).toEqual({ route: route.pattern, roles: true });
      expect({ route: route.pattern, project: route.pattern.includes('/:project_id') }).toEqual({
        route: route.pattern,
        project: terms.scope === 'project',
      });
    }
  });

  it('lets members and support change only what is their own', () => {
    const lesser: PersonRole = audience === 'merchant' ? 'member' : 'support';
    const changing = withRoles(audience).filter(
      ({ route, terms }) => route.method !== 'GET' && (terms[audience] as readonly PersonRole[]).includes(lesser),
    );
    const others = changing.filter(({ terms }) => terms.scope !== 'self').map(({ route }) => route.pattern);
    expect(others.filter((pattern) => !ONLY_SHOWING.includes(pattern))).toEqual([]);
  });

  it(
    'refuses callers who are not signed in, on every route but the public ones',
    async () => {
      const open = declaredOf(audience).filter(({ terms }) => 'open' in terms && terms.open === 'anyone');
      expect(open.map(({ route }) => route.pattern).sort()).toEqual([
        '/api/invitations/accept',
        '/api/invitations/read',
        '/api/sign-in',
      ]);
      const outsider = consoles[audience].browser();
      const guarded = declaredOf(audience).filter(({ terms }) => !('open' in terms && terms.open === 'anyone'));
      for (const { route, terms } of guarded) {
        const { status, body } = await ask(outsider, route, mine);
        const isThere = !('scope' in terms) || terms[audience] !== undefined;
        expect([route.pattern, status, body.error]).toEqual([
          route.pattern,
          isThere ? 401 : 404,
          isThere ? 'SIGN_IN' : 'NOT_FOUND',
        ]);
      }
    },
    LIMIT_MS,
  );

  it(
    'refuses sessions that wait for a code, on every route with roles',
    async () => {
      const waiting = consoles[audience].browser('192.0.2.200');
      const { email } = people[audience === 'merchant' ? 'owner' : 'admin']!;
      expect((await waiting.post('/api/sign-in', { email, password: PASSWORD })).body.stage).toBe('second_factor');
      for (const { route } of withRoles(audience)) {
        const { status, body } = await ask(waiting, route, mine);
        expect([route.pattern, status, body.error]).toEqual([route.pattern, 403, 'SECOND_FACTOR']);
      }
    },
    LIMIT_MS,
  );

  it(
    'asks for the password again on each route that declares it, and on no other',
    async () => {
      const { id, browser } = people[audience === 'merchant' ? 'owner' : 'admin']!;
      const database = consoles[audience].database;
      const age = (minutes: number) =>
        database.query(
          `UPDATE console_session SET authenticated_at = clock_timestamp() - make_interval(mins => $2) WHERE person_id = $1`,
          [id, minutes],
        );
      await age(11);
      for (const { route, terms } of withRoles(audience).filter((each) => !ENDING.test(each.route.pattern))) {
        const { status, body } = await ask(browser, route, mine);
        expect([route.pattern, status === 403 && body.error === 'SIGN_IN_AGAIN']).toEqual([
          route.pattern,
          terms.again === true,
        ]);
      }
      await age(0);
    },
    LIMIT_MS,
  );
});

describe.each(roleCases)('in the %s’s console the role %s', (audience, role) => {
  it(
    'is accepted where it is declared, and answered 403 everywhere else',
    async () => {
      const { browser } = people[role]!;
      for (const { route, terms } of withRoles(audience).filter((each) => !ENDING.test(each.route.pattern))) {
        const { status, body } = await ask(browser, route, mine);
        const isDeclared = (terms[audience] as readonly PersonRole[]).includes(role);
        const isRefused =
          status === 401 || (status === 403 && ['FORBIDDEN', 'SIGN_IN', 'SECOND_FACTOR'].includes(String(body?.error)));
        expect([route.method, route.pattern, isRefused, status < 500]).toEqual([
          route.method,
          route.pattern,
          !isDeclared,
          true,
        ]);
      }
    },
    LIMIT_MS,
  );
});

describe.each(['owner', 'member'] as const)('for the %s of a project', (role) => {
  it(
    'another project and one that does not exist are the same: every path answers 404',
    async () => {
      const { browser } = people[role]!;
      const routes = withRoles('merchant').filter(({ terms }) => terms.scope === 'project');
      expect(routes.length).toBeGreaterThan(5);
      for (const { route } of routes) {
        const [other, none] = [await ask(browser, route, theirs), await ask(browser, route, ID)];
        expect([route.pattern, other.status, other.text]).toEqual([route.pattern, 404, none.text]);
      }
    },
    LIMIT_MS,
  );
});

it(
  'the paths of the other audience do not exist',
  async () => {
    const merchants = new Set(withRoles('merchant').map(({ route }) => `${route.method} ${route.pattern}`));
    const operatorsOnly = withRoles('operator').filter(
      ({ route }) => !merchants.has(`${route.method} ${route.pattern}`),
    );
    expect(operatorsOnly.length).toBeGreaterThan(3);
    for (const { route } of operatorsOnly) {
      const { status } = await ask(people['owner']!.browser, route, mine);
      expect([route.pattern, status === 404 || status === 405]).toEqual([route.pattern, true]);
    }
  },
  LIMIT_MS,
);
