import { STATUS_CODES } from 'node:http';
import type { ComponentsObject, ReferenceObject, ResponseObject } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import { platformCodes } from '../errors/platform.errors';
import type { Codes } from './codes';
import { headersOf, type OwnHeader } from './headers';

const EXAMPLES = '#/components/examples/';

/**
 * Creates an example Error body for each code that a response refers to.
 *
 * @param referring the parts of the document with responses
 */
export function errorExamples(
  codes: Codes,
  ...referring: readonly object[]
): NonNullable<ComponentsObject['examples']> {
  const text = stringify(referring) ?? '';
  return Object.fromEntries(
    codes
      .filter(({ code }) => text.includes(`"${EXAMPLES}${code}"`))
      .map(({ code, when, example, status }) => [
        code,
        { summary: plain(when), value: { code, message: example, status } },
      ]),
  );
}

/** Describes the response of one status, with its codes. */
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

/**
 * True if the codes of this status are the same for every operation, except those with codes of their own.
 *
 * @param all the codes of the document
 */
export function isSharedByOperations(codes: Codes, all: Codes): boolean {
  const common = all.filter((code) => code.on !== undefined || platformCodes.includes(code));
  const ofStatus = common.filter(({ status }) => status === codes[0]?.status);
  return (
    codes.length === ofStatus.length &&
    ofStatus.every((code) => code.on !== undefined && codes.includes(code))
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
