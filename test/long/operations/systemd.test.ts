// docs/systemd.md walked on a separate Debian machine with systemd as process 1. Every block runs literally, with the
// example names replaced. Each unit starts with its own command, files, user and restrictions.
import { readFileSync } from 'node:fs';
import { newChainAccount } from '../../../packages/local/src/chain-account.js';
import { blocksIn } from '../../support/docs/operating-page.js';
import { keepSaid } from '../../setup/canary.js';
import { Machine, whyNoMachine } from '../../systemd/machine.js';

const page = readFileSync(new URL('../../../docs/systemd.md', import.meta.url), 'utf8');
const blocks = blocksIn(page);
const walked = new Set<string>();
const why = whyNoMachine({ '/usr/sbin/nginx': 'nginx', '/usr/bin/prometheus': 'prometheus' });
// Skipped on a machine without root or without these packages.
const walk = why === undefined ? test : test.skip;

const WALLET = newChainAccount().address;
const PORTS = { merchant: 3011, operator: 3012, api: [3000, 3001] } as const;
const DEVNET = 'node /opt/energy-rental/current/packages/devnet/dist/main.devnet.js';
const CHAIN = 'http://127.0.0.1:8090';
const SOLID = 'http://127.0.0.1:8091';

let machine: Machine;

beforeAll(async () => {
  if (why !== undefined) {
    console.warn(`the walk through docs/systemd.md is left out: ${why}`);
    return;
  }
  machine = await Machine.start();
});

afterAll(async () => {
  if (why === undefined) await machine.stop();
});

/** Returns the only block with these words, with its examples replaced. */
function block(words: string, examples: Readonly<Record<string, string>> = {}): string {
  const found = blocks.filter((each) => each.includes(words));
  if (found.length !== 1) throw new Error(`the page has ${found.length.toString()} blocks with “${words}”`);
  let lines = found[0]!;
  walked.add(lines);
  for (const [example, real] of Object.entries(examples)) {
    if (!lines.includes(example)) throw new Error(`“${lines}” does not name ${example}`);
    lines = lines.replaceAll(example, real);
  }
  return lines;
}

const typed = (words: string, examples?: Readonly<Record<string, string>>): Promise<string> =>
  machine.must(block(words, examples));

/** Returns the journal of every unit that is not up. */
async function failing(): Promise<Record<string, string>> {
  const listed = await machine.must(`systemctl list-units 'energy-rental-*' --all --plain --no-legend --no-pager`);
  const down = listed
    .split('\n')
    .filter((line) => line.includes('.service') && !/ active +(running|exited) /.test(line));
  const resting = /^energy-rental-(backup|drill)\.service .* inactive /;
  const units = down.filter((line) => !resting.test(line)).map((line) => line.split(' ')[0]!);
  const said: Record<string, string> = {};
  for (const unit of units) said[unit] = await machine.journal(unit);
  return said;
}

walk('stores, code, users, folders and units', async () => {
  expect(block('apt-get install').split(' ').slice(2)).toEqual(
    expect.arrayContaining(['postgresql', 'redis-server', 'nginx', 'prometheus', 'prometheus-alertmanager']),
  );
  const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts;
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining([/npm run (\w+)/.exec(block('git clone'))![1]!]));
  // The steps that the packages' own scripts run on a machine that booted with systemd.
  await machine.must(
    'chown postgres: /var/lib/postgresql && pg_createcluster --start 15 main -- --no-sync'.replace('15', await major()),
  );
  await machine.must('systemctl start redis-server');
  await typed('CREATE DATABASE energy');
  await typed('ln -sfn releases/one');
  await typed('systemd-sysusers');
  await machine.must(`${DEVNET} --full-port 8090 --solid-port 8091 --control-port 8092 --block-ms 1000 \
    --genesis /opt/energy-rental/current/docker/devnet-genesis.json >/run/devnet.log 2>&1 </dev/null &`);
});

async function major(): Promise<string> {
  return (await machine.must('ls /usr/lib/postgresql | sort -n | tail -1')).trim();
}

walk('settings, secrets, logins and the signer', async () => {
  await typed('cat >cli.env', {
    'https://console.example.com': 'https://console.test',
    'https://nile.trongrid.io\nTRON_SOLIDITY': `${CHAIN}\nTRON_SOLIDITY`,
    'https://nile.trongrid.io': SOLID,
  });
  const [secrets, logins] = [block('openssl rand -base64 32'), block('for role in api')];
  // The page says to keep a copy.
  const said = await machine.must(`${secrets}\ncp /root/master-key /root/kept-master-key\n${logins}`);
  keepSaid('command line', said);
  expect(said).toContain('seal-key-quotes');
  expect(await machine.must(`stat --format='%U %a' /etc/energy-rental/secrets/* | sort -u`)).toBe('root 600\n');
  await typed('wallets.json', { TYourStakedWallet: WALLET });
  expect((await machine.run('energy-rental-cli migrate check')).code).toBe(0);
});

walk(
  'every unit starts, answers and survives',
  async () => {
    await typed('systemctl enable --now');
    const { code, out, err } = await machine.run(block('for port in').replace('energy-rental-cli doctor', ''));
    expect({ code, out, err, failing: await failing() }).toMatchObject({ code: 0, failing: {} });
    for (const port of [...PORTS.api, PORTS.merchant, PORTS.operator]) {
      const answer = await machine.must(
        `curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:${port.toString()}/`,
      );
      expect({ port, answer }).toEqual({ port, answer: expect.stringMatching(/^[2-4]\d\d$/) as string });
    }
    // No unit was restarted.
    const restarts = await machine.must(
      `systemctl show --property=NRestarts --value 'energy-rental-*.service' | sort -u`,
    );
    expect(restarts.trim()).toBe('0');
    const metrics = await machine.must('curl --silent --fail http://127.0.0.1:19400/metrics');
    expect(metrics).toMatch(/^backup_last_success_timestamp_seconds [1-9]/m);
    expect(metrics).toMatch(/^drill_last_success_timestamp_seconds [1-9]/m);
    expect(metrics).toMatch(/^drill_last_failure_timestamp_seconds 0$/m);
    const { out: found } = await machine.run('energy-rental-cli doctor');
    expect(found).toContain('Postgres');
  },
  600_000,
);

walk(
  'nginx, Prometheus and Alertmanager know every process',
  async () => {
    for (const name of ['api', 'console']) {
      await machine.must(`openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${name} \
      -keyout /etc/ssl/private/energy-rental-${name}.key -out /etc/ssl/certs/energy-rental-${name}.pem 2>/dev/null`);
    }
    await typed('nginx -t', { API_NAME: 'api.test', CONSOLE_NAME: 'console.test' });
    const ask = (name: string): Promise<string> =>
      machine.must(
        `curl --silent --insecure --resolve ${name}:443:127.0.0.1 --output /dev/null --write-out '%{http_code}' https://${name}/`,
      );
    expect(await ask('api.test')).toMatch(/^[24]/);
    expect(await ask('console.test')).toMatch(/^[23]/);
    await typed('promtool check config');
    const targets = `curl --silent --fail http://127.0.0.1:9090/api/v1/targets`;
    await machine.untilTrue(
      `${targets} | grep -q '"health":"up"' && ! ${targets} | grep -qE '"health":"(down|unknown)"'`,
    );
    await machine.untilTrue('curl --silent --fail http://127.0.0.1:9093/-/ready');
    const jobs = [...(await machine.must(targets)).matchAll(/"job":"(\w+)"/g)].map(([, job]) => job!);
    expect([...new Set(jobs)].sort()).toEqual(['api', 'backup', 'console', 'sender', 'worker']);
  },
  600_000,
);

walk(
  'the link exchanges a release and undoes it',
  async () => {
    await machine.must(`mkdir /opt/energy-rental/releases/two
    mount --bind -o ro /opt/energy-rental/releases/one /opt/energy-rental/releases/two`);
    const lines = block('releases/two');
    await machine.must(lines);
    expect(await failing()).toEqual({});
    const folder = `readlink /proc/$(systemctl show --property=MainPID --value energy-rental-worker@1)/cwd`;
    expect((await machine.must(folder)).trim()).toBe('/opt/energy-rental/releases/two');
    await machine.must(lines.replaceAll('releases/two', 'releases/one'));
    expect((await machine.must(folder)).trim()).toBe('/opt/energy-rental/releases/one');
  },
  900_000,
);

walk(
  'the master key is rotated while every unit reads both keys',
  async () => {
    await machine.must(`cp /root/kept-master-key /root/master-key
    (umask 077 && openssl rand -base64 32 >/root/other-master-key)`);
    await typed('previous-keys.conf');
    const derive = block('MASTER_KEY_PREVIOUS_FILE');
    const restart = `systemctl restart 'energy-rental-api@*' 'energy-rental-worker@*' 'energy-rental-sender@*' \
      energy-rental-console-merchant energy-rental-console-operator`;
    await machine.must(`${derive}\n${restart}`);
    expect(await failing()).toEqual({});
    const swap = `mv /root/master-key /root/old && mv /root/other-master-key /root/master-key && mv /root/old /root/other-master-key`;
    await machine.must(`${swap}\n${derive}\n${restart}`);
    expect(await failing()).toEqual({});
    await machine.must('energy-rental-cli --yes --reason rotation keys rewrap');
    await machine.must(`rm -r /etc/systemd/system/energy-rental-*.service.d/previous-keys.conf \
      /etc/energy-rental/secrets/*-previous /root/*master-key
    systemctl daemon-reload
    ${restart}`);
    expect(await failing()).toEqual({});
  },
  900_000,
);

walk('no block of the page was left out', () => {
  expect(blocks.filter((each) => !walked.has(each))).toEqual([]);
});
