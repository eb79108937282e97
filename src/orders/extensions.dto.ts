/** The request body of an extension (docs/interface.md §30). */
import { IsDuration } from '../quotes/quote.dto.js';

export class ExtensionRequest {
  @IsDuration({ isLongJudged: false, defaultOf: null })
  declare readonly duration_sec: number;
}
