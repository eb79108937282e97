// The containers and units of docker/: resource limits, and consistency between the files. docker/check.sh checks the
// schema of compose.yaml and the files of Prometheus, Alertmanager and Caddy with their own tools.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BlockList } from 'node:net';
import { parse } from 'yaml';
import { PURPOSES_OF, SEAL_KEY_SETTINGS, type Role } from '../../../src/platform/config/config.js';

const path = (file: string): string => fileURLToPath(new URL(`../../../${file}`, import.meta.url));
const read = (file: string): string => readFileSync(path(file), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: { readonly target: string };
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly user?: string;
  readonly read_only?: boolean;
  readonly init?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly privileged?: boolean;
  readonly security_opt?: readonly string[];
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly logging?: { readonly options: Readonly<Record<string, string>> };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[] | { readonly edge: { readonly ipv4_address: string } };
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: { readonly edge: { readonly ipam: { readonly config: readonly Record<string, string>[] } } };
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(read('docker/compose.yaml'), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const dockerfile = read('docker/Dockerfile');

test.each(services)('the container %s is confined and limited', (_name, service) => {
  expect(service).toMatchObject({ read_only: true, init: true, cap_drop: ['ALL'] });
  expect(service.security_opt).toContain('no-new-privileges:true');
  expect(service).not.toHaveProperty('privileged');
  expect(service).not.toHaveProperty('cap_add');
  expect(service.user).toMatch(/^(?!root|0)\w+(:\d+)?$/);
  expect(service.mem_limit).toMatch(/^\d+[mg]$/);
  expect(service.pids_limit).toBeGreaterThan(0);
  expect(service.logging?.options).toEqual({ 'max-size': '50m', 'max-file': expect.any(String) });
});

test.each(services)('the image of %s is ours, or named by its exact patch release', (_name, { image, build }) => {
  if (build === undefined) expect(image).toMatch(/^[a-z/]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$/);
  else {
    expect(image).toMatch(/^energy-rental(-\w+)?:\$\{VERSION:-latest\}$/);
    expect(dockerfile).toMatch(new RegExp(`^FROM \\S+ AS ${build.target}$`, 'm'));
  }
});

test('names base images by exact patch releases, one for each program', () => {
  const own = [...dockerfile.matchAll(/ AS (\w+)$/gm)].map(([, name]) => name!);
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)]
    .map(([, base]) => base!)
    .filter((base) => !own.includes(base));
  for (const base of bases) expect(base).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?-[a-z]+(-slim)?$/);
  const programs = bases.map((base) => base.split(':')[0]!);
  expect(new Set(bases).size).toBe(new Set(programs).size);
  // The dump tools and the dumped server have the same release.
  expect(bases).toContain(compose.services['postgres']!.image);
});

test('gives no secret a default, and passes none as a process argument', () => {
  const variables = [...read('docker/compose.yaml').matchAll(/\$\{([A-Z_]+)([^}]*)\}/g)];
  const secrets = variables.filter(([, name]) => /PASSWORD|KEY$|SECRET|_URL$/.test(name!));
  expect(secrets.length).toBeGreaterThan(5);
  for (const [all, , rest] of secrets)
    expect({ all, rest }).toEqual({ all, rest: expect.stringMatching(/^(:\?.+|:-)$/) });
  for (const [name, { command = [], entrypoint = [] }] of services) {
    const secret = [...command, ...entrypoint].filter((argument) => /(?<!\$)\$\{/.test(argument));
    expect({ name, secret }).toEqual({ name, secret: [] });
  }
});

test('only the proxy is reachable from outside the machine', () => {
  const open = services.flatMap(([name, { ports = [] }]) =>
    ports.filter((port) => !port.startsWith('127.0.0.1:')).map(() => name),
  );
  expect([...new Set(open)]).toEqual(['proxy']);
  for (const [name, { ports = [] }] of services) {
    if (name !== 'api') expect(ports.filter((port) => port.includes('9100') || port.endsWith(':5432'))).toEqual([]);
  }
});

test('the API trusts the proxy’s address, which no other container can get', () => {
  const { networks } = compose.services['proxy']!;
  const address = Array.isArray(networks) ? '' : (networks as { edge: { ipv4_address: string } }).edge.ipv4_address;
  expect(compose.services['api']!.environment!['TRUSTED_PROXIES']).toBe(`\${TRUSTED_PROXIES:-${address}}`);
  const { subnet = '', ip_range: range = '' } = compose.networks.edge.ipam.config[0]!;
  const isIn = (network: string): boolean => {
    const [base = '', bits = ''] = network.split('/');
    const list = new BlockList();
    list.addSubnet(base, Number(bits));
    return list.check(address);
  };
  expect([isIn(subnet), isIn(range)]).toEqual([true, false]);
  // Only the API processes and the proxy are on this network.
  expect(
    services.filter(([, service]) => JSON.stringify(service.networks ?? []).includes('edge')).map(([name]) => name),
  ).toEqual(['api', 'proxy']);
});

test('every file that is mounted or copied into an image exists, and every volume is declared', () => {
  for (const [name, { volumes = [] }] of services) {
    // The operator chooses this folder, so it does not exist here.
    for (const volume of volumes.filter((each) => !each.startsWith('${'))) {
      const [from = ''] = volume.split(':');
      const isThere = from.startsWith('./') ? existsSync(path(`docker/${from}`)) : from in compose.volumes;
      expect({ name, volume, isThere }).toEqual({ name, volume, isThere: true });
    }
  }
  const allowed = read('.dockerignore').split('\n');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) => files!.split(' '));
  for (const file of copied) {
    expect({ file, isThere: existsSync(path(file)), isSent: allowed.includes(`!${file}`) }).toEqual({
      file,
      isThere: true,
      isSent: true,
    });
  }
});

test('has exactly the profiles that the file explains', () => {
  const used = new Set(services.flatMap(([, { profiles = [] }]) => profiles));
  const explained = [...read('docker/compose.yaml').matchAll(/^# {3}(\w+) {2,}/gm)].map(([, name]) => name!);
  expect([...used].sort()).toEqual([...explained, 'cli'].sort());
});

test('gives Grafana a data source and a dashboard that fit each other and Prometheus', () => {
  const source = parse(read('docker/grafana/datasource.yaml')) as { datasources: { type: string; url: string }[] };
  expect(source.datasources).toMatchObject([{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }]);
  expect(compose.services).toHaveProperty('prometheus');
  const boards = parse(read('docker/grafana/dashboards.yaml')) as { providers: { options: { path: string } }[] };
  const folder = boards.providers[0]!.options.path;
  const mounted = compose.services['grafana']!.volumes!.find((volume) => volume.startsWith('./dashboard.json'));
  expect(mounted).toMatch(new RegExp(`:${folder}/[a-z-]+\\.json:ro$`));
  expect(mounted).toContain(compose.services['grafana']!.environment!['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH']);
  const board = JSON.parse(read('docker/dashboard.json')) as { uid: string; templating: { list: { type: string }[] } };
  expect(board.uid).toBe('energy-rental');
  expect(board).not.toHaveProperty('__inputs');
  expect(board.templating.list).toMatchObject([{ name: 'datasource', type: 'datasource', query: 'prometheus' }]);
});

test('every severity has a receiver, and only existing alerts are silenced', () => {
  const manager = parse(read('docker/alertmanager.yml')) as {
    route: { receiver: string; routes: { matchers: string[]; receiver: string }[] };
    receivers: { name: string }[];
    inhibit_rules: { source_matchers: string[]; target_matchers: string[] }[];
  };
  const alerts = parse(read('docker/alerts.yml')) as {
    groups: { rules: { alert: string; labels: { severity: string } }[] }[];
  };
  const rules = alerts.groups.flatMap((group) => group.rules);
  const receivers = manager.receivers.map(({ name }) => name);
  expect(receivers).toContain(manager.route.receiver);
  for (const { receiver } of manager.route.routes) expect(receivers).toContain(receiver);
  expect(new Set(rules.map(({ labels }) => labels.severity))).toEqual(new Set(receivers));
  expect(manager.route.routes.flatMap(({ matchers }) => matchers)).toEqual(['severity="page"']);
  const names = manager.inhibit_rules
    .flatMap((rule) => [...rule.source_matchers, ...rule.target_matchers])
    .flatMap((matcher) => /^alertname=~?"([\w|]+)"$/.exec(matcher)![1]!.split('|'));
  expect(names.filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([]);
  const prometheus = parse(read('docker/prometheus.yml')) as {
    alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] };
  };
  expect(prometheus.alerting.alertmanagers[0]!.static_configs[0]!.targets).toEqual(['alertmanager:9093']);
});

const units = readdirSync(path('docker/systemd')).filter((name) => name.endsWith('.service'));
const settingsOf = (unit: string): Map<string, string> =>
  new Map([...read(`docker/systemd/${unit}`).matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]));

test.each(units)('the unit %s runs our program under its own user, confined and limited', (unit) => {
  const settings = settingsOf(unit);
  expect(Object.fromEntries(settings)).toMatchObject({
    NoNewPrivileges: 'yes',
    CapabilityBoundingSet: '',
    ProtectSystem: 'strict',
    ProtectHome: 'yes',
    PrivateTmp: 'yes',
    RestrictNamespaces: 'yes',
    MemoryMax: expect.stringMatching(/^\d+[MG]$/) as string,
    TasksMax: expect.stringMatching(/^\d+$/) as string,
  });
  expect(read('docker/systemd/energy-rental.sysusers.conf')).toContain(`\nu ${settings.get('User')!} - `);
  const [program = '', file = ''] =
    /^(?:\/usr\/bin\/node (?:--\S+ )*)?(\S+\.(?:m?js|sh))/.exec(settings.get('ExecStart')!) ?? [];
  expect(program).not.toBe('');
  const source = file
    .replace('/opt/energy-rental/current/', '')
    .replace(/^dist\/bundle\/main\.(\w+)\.js$/, 'src/apps/$1/main.$1.ts');
  expect({ source, isThere: existsSync(path(source)) }).toEqual({ source, isThere: true });
});

test('every unit with a network may list the machine’s addresses', () => {
  for (const unit of units) {
    const families = settingsOf(unit).get('RestrictAddressFamilies');
    expect({ unit, families }).toEqual({
      unit,
      families: unit.includes('signer') ? 'AF_UNIX' : 'AF_INET AF_INET6 AF_UNIX AF_NETLINK',
    });
  }
});

test('no two programs share a user, except the backup, its drill and its metrics', () => {
  const users = units.filter((unit) => !/drill|backup-metrics/.test(unit)).map((unit) => settingsOf(unit).get('User'));
  expect(new Set(users).size).toBe(users.length);
});

test('passes every secret of a unit as a credential, never as a setting', () => {
  for (const unit of units) {
    const given = [...read(`docker/systemd/${unit}`).matchAll(/([A-Z_]+)_FILE=%d\/([\w-]+)/g)].map(
      ([, , name]) => name!,
    );
    const loaded = [...read(`docker/systemd/${unit}`).matchAll(/^LoadCredential=([\w-]+):/gm)].map(([, name]) => name!);
    expect({ unit, given: given.sort() }).toEqual({ unit, given: loaded.sort() });
    expect(read(`docker/systemd/${unit}`)).not.toMatch(/(PASSWORD|MASTER_KEY|_URL)=/);
  }
});

test('the page names every unit and exactly the files of secrets and settings that units and the CLI read', () => {
  const page = read('docs/systemd.md');
  const [, rest = ''] = page.split('| file | for |\n');
  const [table = ''] = rest.split('\n\n');
  const named = table
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...line.split('|')[1]!.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!));
  const files = readdirSync(path('docker/systemd')).map((name) => read(`docker/systemd/${name}`));
  const loaded = files.flatMap((unit) =>
    [...unit.matchAll(/^LoadCredential=.*\/secrets\/([\w-]+)$|\$secrets\/([\w-]*\w)(?![\w$-])/gm)].map(
      ([, ofUnit, ofCommand]) => (ofUnit ?? ofCommand)!,
    ),
  );
  expect(named.sort()).toEqual([...new Set(loaded)].sort());
  const settings = files.flatMap((unit) =>
    [...unit.matchAll(/^EnvironmentFile=-?.*\/([\w-]+\.env)$/gm)].map(([, name]) => name!),
  );
  expect([...new Set(settings)].filter((name) => !page.includes(name))).toEqual([]);
  const started = page.slice(page.indexOf('systemctl enable --now'));
  const timed = new Set(readdirSync(path('docker/systemd')).flatMap((name) => (name.endsWith('.timer') ? [name] : [])));
  const wanted = units.filter((unit) => !timed.has(unit.replace('.service', '.timer'))).concat(...timed);
  expect(wanted.filter((unit) => !started.includes(unit.replace(/\.service$/, '')))).toEqual([]);
});

test('each unit gives its process exactly the keys that it needs', () => {
  const given = (file: string): string[] =>
    [...read(`docker/systemd/${file}`).matchAll(/([A-Z_]+)_FILE=%d/g)].map(([, name]) => name!).sort();
  const sealKeys = (role: Role): string[] => PURPOSES_OF[role].map((purpose) => SEAL_KEY_SETTINGS[purpose]);
  const previousKeys = (role: Role): string[] =>
    sealKeys(role)
      .map((name) => `${name}_PREVIOUS`)
      .sort();
  const stores = ['DATABASE_URL', 'REDIS_URL'];
  expect(given('energy-rental-api@.service')).toEqual([...stores, ...sealKeys('api')].sort());
  // The worker signs through the signer. The drop-in is for installations without one.
  expect(given('energy-rental-worker@.service')).toEqual(stores);
  expect(given('energy-rental-worker-pool-keys.conf')).toEqual(sealKeys('worker').sort());
  expect(given('energy-rental-drill.service')).toEqual([...stores, ...sealKeys('cli')].sort());
  expect(given('energy-rental-sender@.service')).toEqual(['DATABASE_URL', 'SEAL_KEY_WEBHOOKS']);
  for (const audience of ['merchant', 'operator']) {
    const unit = `energy-rental-console-${audience}.service`;
    expect(given(unit)).toEqual(['DATABASE_URL', 'SEAL_KEY_SECOND_FACTORS']);
  }
  expect(given('energy-rental-api-previous-keys.conf')).toEqual(previousKeys('api'));
  expect(given('energy-rental-worker-previous-keys.conf')).toEqual(previousKeys('worker'));
  expect(given('energy-rental-sender-previous-keys.conf')).toEqual(['SEAL_KEY_WEBHOOKS_PREVIOUS']);
  expect(given('energy-rental-console-previous-keys.conf')).toEqual(['SEAL_KEY_SECOND_FACTORS_PREVIOUS']);
  expect(given('energy-rental-console-mail.conf')).toEqual(['SMTP_URL']);
  expect(given('energy-rental-deposits.conf')).toEqual(['DEPOSIT_XPUB']);
  expect(given('energy-rental-backup.service')).toEqual(['DATABASE_URL']);
});
