/** One order with all that belongs to it, as its page reads it. */
export type { OrderStory as OrderHistory } from '../../../../src/console/data-shapes.js';
