import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy } from 'class-validator';

const MAX_LENGTH = 255;

/**
 * No control characters (Cc), and at least one character that is not white space. The pattern has no flags and no
 * look-around, so that every tool that reads the OpenAPI document can run it.
 */
const PATTERN = String.raw`^[^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x1F\x7F-\x9F]*$`;

const ACCEPTABLE = new RegExp(PATTERN, 'u');

/** Validates an animal's name: 1 to 255 code points, no lone surrogates, and the pattern. */
export function IsPetName(): PropertyDecorator {
  return ValidateBy({
    name: 'isPetName',
    validator: {
      validate: isPetName,
      defaultMessage: () =>
        `name must be a string of 1 to ${MAX_LENGTH} characters, at least one of them not white space, and no control characters`,
    },
  });
}

/** Documents an animal's name. Lengths in an OpenAPI document count code points, too. */
export function ApiPetName(): PropertyDecorator {
  return ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: MAX_LENGTH,
    pattern: PATTERN,
    description: "The animal's name, kept exactly as sent.",
    example: 'Rex',
  });
}

function isPetName(value: unknown): boolean {
  // A code point is one or two UTF-16 units, so only lengths from 256 to 510 units need a count.
  if (typeof value !== 'string' || value.length > 2 * MAX_LENGTH) return false;
  const isShort = value.length <= MAX_LENGTH || Array.from(value).length <= MAX_LENGTH;
  return isShort && value.isWellFormed() && ACCEPTABLE.test(value);
}
