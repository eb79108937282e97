/** One order with its related records, as its page reads it. */
export type { OrderStory as OrderHistory } from '../../../../src/modules/console/data-shapes.js';
