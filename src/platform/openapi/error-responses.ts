import { STATUS_CODES } from 'node:http';
import type { ComponentsObject, ReferenceObject, ResponseObject } from '@nestjs/swagger';
import { errorCodes } from '../errors/error-codes';
import { headersOf, type OwnHeader } from './headers';

const EXAMPLES = '#/components/examples/';

/** The error codes of one status, in the order of the table of codes. */
export type Codes = typeof errorCodes;

/**
 * Creates an example Error body for each code that a response refers to.
 *
 * @param referring the parts of the document with responses
 */
export function errorExamples(...referring: readonly object[]): NonNullable<ComponentsObject['examples']> {
  const text = JSON.stringify(referring);
  return Object.fromEntries(
    errorCodes
      .filter(({ code }) => text.includes(`"${EXAMPLES}${code}"`))
      .map(({ code, when, example, status }) => [
        code,
        { summary: plain(when), value: { code, message: example, status } },
      ]),
  );
}

/** Describes the response of one status with one of the codes. */
export function errorResponseObject(codes: Codes, extra: readonly OwnHeader[]): ResponseObject {
  const own = codes.flatMap(({ header }) => (header === undefined ? [] : [header]));
  const isAlways = own.length === codes.length;
  const headers = [...new Set(own)].map((name) => ({ name, isOptional: !isAlways }));
  return {
    description: codes.map(({ code, when }) => `- \`${code}\`: ${when}.`).join('\n'),
    headers: headersOf([...headers, ...extra]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map(({ code }) => [code, { $ref: `${EXAMPLES}${code}` }])),
      },
    },
  };
}

/** True if every operation with the status has the same codes, so that one component describes all of them. */
export function isSharedByOperations(codes: Codes): boolean {
  const [{ status } = { status: 0 }] = codes;
  return errorCodes.every(
    (each) => each.status !== status || (each.on !== undefined && codes.includes(each)),
  );
}

export function sharedName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
}

export function sharedReference(status: number): ReferenceObject {
  return { $ref: `#/components/responses/${sharedName(status)}` };
}

/** Removes the Markdown, because a summary is plain text. */
function plain(text: string): string {
  const bare = text.replaceAll('`', '');
  return `${bare.charAt(0).toUpperCase()}${bare.slice(1)}`;
}
