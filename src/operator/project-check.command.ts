/** `project check`: the automatic part of the going-live checklist. Changes nothing. */
import type { Command } from 'commander';
import { nowMs } from '../base/clock.js';
import { checkProject } from '../diagnostics/project-check.js';
import { readProject } from '../diagnostics/project-look.js';
import { OperatorError } from '../domain/operator-error.js';
import { ApiKeys } from '../projects/api-keys.js';
import { Projects } from '../projects/projects.js';
import { Database } from '../store/database.js';
import { Webhooks } from '../webhooks/webhooks.js';
import { merchantArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { findingText } from './finding-text.js';

const HELP = `
ok: as it should be. look: it works; see that it is meant so. missing: mend it
before going live. What else belongs to it is in docs/going-live.md.`;
const MARK_COLUMNS = 'missing'.length;

export function addProjectCheck(project: Command, context: CliContext): void {
  project
    .command('check <merchant>')
    .description('the checklist for going live; exit 1 when something must be mended')
    .addHelpText('after', HELP)
    .action(async (merchant: string) => {
      const id = merchantArg(merchant);
      const findings = await context.operate(async (parts) => {
        const view = await parts.get(Projects).get(id);
        return checkProject({
          project: view,
          keys: await parts.get(ApiKeys).list(id),
          webhooks: await parts.get(Webhooks).list(id),
          read: await readProject(parts.get(Database), id),
          nowMs: nowMs(),
        });
      });
      const wanting = findings.filter(({ state }) => state === 'missing').length;
      const text = findings.map((finding) => findingText(finding.state.padEnd(MARK_COLUMNS), finding)).join('\n');
      context.print(text, { ok: wanting === 0, findings });
      if (wanting > 0) throw new OperatorError(`${wanting.toString()} to mend.`, 1, 'MISSING');
    });
}
