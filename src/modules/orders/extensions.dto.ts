/** The request body of an extension (docs/interface.md §30). */
import { Optional } from '../../platform/http/body/member-rules.js';
import { IsDuration, IsExpectedUses } from '../quotes/quote.dto.js';

export class ExtensionRequest {
  @IsDuration({ isLongJudged: false, defaultOf: null })
  declare readonly duration_sec: number;

  @Optional()
  @IsExpectedUses()
  declare readonly expected_uses?: number;
}
