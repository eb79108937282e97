/** `explain-transfer`: why a transaction of a receiver burnt TRX or failed. */
import type { Command } from 'commander';
import { ApiError } from '../../domain/errors.js';
import { OperatorError } from '../../domain/operator-error.js';
import { trxText } from '../../domain/text.js';
import type { ExplanationBody } from '../explain/explain.dto.js';
import { ExplainService } from '../explain/explain.service.js';
import { merchantArg, txidArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { fields, paragraph, table } from './format.js';

export function addExplainTransferCommand(program: Command, context: CliContext): void {
  program
    .command('explain-transfer')
    .argument('<txid>', 'the transaction', txidArg)
    .description('explain why a transaction of a receiver burnt TRX or failed')
    .option('--project <merchant>', 'only by orders of this project', merchantArg)
    .action((txid: string, { project }: { project?: string }) =>
      context.operate(async (parts) => {
        const service = parts.get(ExplainService, { strict: false });
        const found = await service.explain(project === undefined ? undefined : [project], txid).catch(asOperatorError);
        if (found === undefined) {
          const missing = 'No node knows this transaction, or no order concerns it. Check the id and --project.';
          throw new OperatorError(missing, 1, 'NOT_FOUND');
        }
        context.print(explanationText(found), found);
      }),
    );
}

function asOperatorError(error: unknown): never {
  if (error instanceof ApiError) throw new OperatorError(error.message);
  throw error;
}

function explanationText(body: ExplanationBody): string {
  const causes = body.causes.map(({ code, sentence, next }) =>
    [code, paragraph('  ', sentence), paragraph('  → ', next)].join('\n'),
  );
  const rentals = body.rentals.map((rental) => [
    rental.order_key,
    rental.running_energy,
    rental.later_energy,
    rental.ended_energy,
  ]);
  return [
    paragraph('', body.sentence),
    ...causes,
    figuresText(body),
    ...(rentals.length > 0 ? [table(['order', 'running', 'later', 'ended'], rentals)] : []),
  ].join('\n\n');
}

function figuresText(body: ExplanationBody): string {
  const trx = (sun: number | undefined): string | undefined => (sun === undefined ? undefined : trxText(BigInt(sun)));
  return fields([
    ['final', body.solid],
    ['result', body.result],
    ['block', body.block_number?.toString()],
    ['sender', body.owner_address],
    ['receiver of orders', body.receive_address],
    ['contract', body.contract_address],
    ['energy used', body.energy_used],
    ['of staked or rented', body.staked_energy],
    ['of the deployer', body.deployer_energy],
    ['burnt energy', body.burnt_energy],
    ['burnt for energy', trx(body.energy_burn_sun)],
    ['burnt for bandwidth', trx(body.bandwidth_burn_sun)],
    ['burnt for activation', trx(body.activation_burn_sun)],
    ['burnt in all', trx(body.total_burn_sun)],
    ['fee limit', trx(body.fee_limit_sun)],
  ]);
}
