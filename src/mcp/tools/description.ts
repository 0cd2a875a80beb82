import type { Operation, Parameter } from './api-document';

/** The parameter of a list that names the start of a page. */
const CURSOR = 'cursor';
const CURSOR_TEXT =
  'The `cursor` that the result of the previous page names. Leave it out for the first page.';

/** Returns the text of a parameter. The document explains a cursor by a header, which an agent does not see. */
export function describeParameter({ name, description }: Parameter): string | undefined {
  return name === CURSOR ? CURSOR_TEXT : description;
}

/** Describes an operation for an agent: what it does, what a call costs, how to page and how to retry. */
export function describe(operation: Operation, parameters: readonly Parameter[]): string {
  const { summary = '', description = '', deprecated } = operation;
  const has = (name: string): boolean => parameters.some((each) => each.name === name);
  return [
    description === '' ? summary : description,
    operation['x-uncounted']
      ? 'A call is not counted in the rate limits.'
      : 'A call counts as one request in the minute and in the day of the account.',
    deprecated ? deprecation(operation['x-sunset']) : '',
    has(CURSOR) ? 'If more items follow, the result names the `cursor` of the next page.' : '',
    has('If-Match') ? 'The result of an earlier call has the `ETag` for `If-Match`.' : '',
    has('Idempotency-Key')
      ? 'Choose an `Idempotency-Key`. If a result is lost, repeat the call with the same one and the same arguments: it then has its effect once. Without one, a repetition may have its effect again.'
      : '',
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

function deprecation(sunset: string | undefined): string {
  return sunset === undefined ? 'Deprecated.' : `Deprecated. It will be removed on ${sunset}.`;
}
